"""callgate: one rule language, and its engine, for everything between a language model and its tools."""
