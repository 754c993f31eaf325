# SPDX-License-Identifier: MIT
"""Members of C structures, from the image's debug information (through readelf)."""

import re
import subprocess

DIE = re.compile(r"^ <(\d+)><[0-9a-f]+>: Abbrev Number: \d+ \((\w+)\)")
ATTRIBUTE = re.compile(r"^\s+<[0-9a-f]+>\s+(DW_AT_\w+)\s*:\s*(.*)$")


def value_of(text):
    """The value in readelf's words: what follows the form."""
    return re.sub(r"^\([^)]*\):?\s*", "", text).strip()


class Structures:
    """Structures by name, and by name within one source file."""

    def __init__(self, elf):
        self.by_unit = {}
        self.by_name = {}
        self.unit = ""
        self.current = self.member = None
        out = subprocess.Popen(["readelf", "-wi", elf], stdout=subprocess.PIPE, text=True,
                               errors="replace")
        with out:
            kind = None
            for line in out.stdout:
                die = DIE.match(line)
                if die:
                    kind = self.begin(int(die[1]), die[2])
                    continue
                attribute = ATTRIBUTE.match(line) if kind else None
                if attribute:
                    self.attribute(kind, attribute[1], value_of(attribute[2]))
        self.finish()

    def finish(self):
        """Files the structure that has been read."""
        s, self.current, self.member = self.current, None, None
        if s and s["name"] and s["members"]:
            members = sorted((m["at"], m["name"]) for m in s["members"] if m["name"])
            self.by_unit.setdefault((self.unit, s["name"]), members)
            self.by_name.setdefault(s["name"], members)

    def begin(self, depth, tag):
        """A new entry; returns what its attributes belong to."""
        if tag == "DW_TAG_compile_unit":
            self.finish()
            self.unit = ""
            return "unit"
        if self.current and depth <= self.current["depth"]:
            self.finish()
        if tag == "DW_TAG_structure_type" and not self.current:
            self.current = {"name": "", "depth": depth, "members": []}
            return "structure"
        if tag == "DW_TAG_member" and self.current and depth == self.current["depth"] + 1:
            self.member = {"name": "", "at": 0}
            self.current["members"].append(self.member)
            return "member"
        return None

    def attribute(self, kind, name, value):
        """One attribute of the entry that began last."""
        if kind == "unit" and name == "DW_AT_name" and not self.unit:
            self.unit = value[2:] if value.startswith("./") else value
        elif kind == "structure" and name == "DW_AT_name" and not self.current["name"]:
            self.current["name"] = value
        elif kind == "member" and name == "DW_AT_name":
            self.member["name"] = value
        elif kind == "member" and name == "DW_AT_data_member_location":
            self.member["at"] = int(value.split()[0], 0)

    def members(self, name, unit=None):
        """[(offset, member)] in order, of a structure (as this source file has it)."""
        if unit:
            return self.by_unit.get((unit, name), [])
        return self.by_name.get(name, [])


def member_at(members, offset):
    """Name of the last member that begins at or before @offset, or None."""
    found = None
    for at, name in members:
        if at > offset:
            break
        found = name
    return found
