"""Label swap: does a judge lean toward a label that carries no information, or a position?"""
