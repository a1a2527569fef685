"""Does each source read what its clients send: shapes, golden cases, anything at all?"""
