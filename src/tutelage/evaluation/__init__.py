"""How good is a student on levels it was not trained on?"""
