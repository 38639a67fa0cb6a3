"""Does a change to an application make it better, judged by readers that people calibrated?"""
