"""The files that maps come from and go to: one module per form, `loading` tells them apart."""
