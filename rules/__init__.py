"""What a rule can be: one file per kind, and the packs that ship."""
