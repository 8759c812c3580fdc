"""The verdict: do answers follow beliefs or a rule, and is the reasoning behind them faithful?"""
