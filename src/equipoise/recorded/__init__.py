"""What other tools wrote down: one file a tool, each giving the replies it recorded as they stand.

Nothing here asks anything. A record's bytes are kept as the log holds them; what they say is
derived from them each time, as from any other reply.
"""
