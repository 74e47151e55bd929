"""How answers look: on a terminal, on a page, as a picture."""
