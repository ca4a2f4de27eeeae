"""The kinds of rules, one module each. A module ends in `KIND = ItsClass`; nothing else names it."""
