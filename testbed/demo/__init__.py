"""One command that shows the whole loop at work on emulated edge nodes, and checks what it showed."""
