"""``ullage install``: what is put into other programs' configuration, and taken out of it again."""
