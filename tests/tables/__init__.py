"""Does every engine keep the promises of the Table protocol, and its own?"""
