"""Text to tree, and what is wrong with text. Knows no kinds, no tools, no schemas."""
