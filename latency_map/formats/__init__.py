"""File formats of maps, one module for each; `recognise` detects them and `loading` reads them."""
