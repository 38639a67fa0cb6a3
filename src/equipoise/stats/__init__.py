"""Statistics as plain functions on numbers; nothing here knows what the numbers are about."""
