"""Check, compile, run, reload, connect. The run-time half never imports the parser."""
