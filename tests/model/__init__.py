"""Does the lineage algebra obey its laws, and say what a walk by hand would say?"""
