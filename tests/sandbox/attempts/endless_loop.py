# Go on for ever, whatever is asked.
while True:
    try:
        while True:
            pass
    except BaseException:
        pass
