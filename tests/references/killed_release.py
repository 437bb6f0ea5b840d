"""A release from table to table in a process of its own, which says when it begins, so that somebody can kill it."""

import sys

import indistinct as ind


def main():
    address, k = sys.argv[1], sys.argv[2]
    schema = ind.Schema(
        identifiers=["name"], quasi=["age", "sex", "zipcode"], sensitive=["disease"], insensitive=["admitted", "cost"]
    )
    sys.stdout.write("begins\n")
    sys.stdout.flush()
    ind.anonymize(
        ind.DatabaseTable(address, "killed.visits"),
        schema,
        model=f"k-anonymity:k={k}",
        algorithm="mondrian",
        output=ind.DatabaseTable(address, "killed.release"),
        overwrite=True,
    )
    sys.stdout.write("done\n")


if __name__ == "__main__":
    main()
