"""Rows"""
SHAPE = ()
