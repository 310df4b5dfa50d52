"""bique checkup"""
