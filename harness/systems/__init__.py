"""The clients and programs of the systems that the dialects come from. They are under test: the
table of dialects names each as ``module:function``, and no other package imports them.
"""
