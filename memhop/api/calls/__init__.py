"""The calls of `DB`, by what they are for; `api/db.py` puts them together."""
