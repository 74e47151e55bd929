"""The exact curves of the three methods. NOT private: for trusted eyes only."""

import random

import dpdistinct

made_up = random.Random(1)
people = [made_up.randrange(300) for _ in range(10_000)]
sites = [int(5_000 ** made_up.random()) for _ in range(10_000)]
contributions = dpdistinct.Contributions.from_pairs(people, sites)

curves = [
    dpdistinct.matching_curve(contributions),
    dpdistinct.greedy_curve(contributions),
    dpdistinct.sampling_curve(contributions),
]
print("bound  matching  greedy  sampling")
for bound in (1, 2, 5, 10, 20, 50):
    print(f"{bound:5}  {curves[0].at(bound):8}  {curves[1].at(bound):6}  {curves[2].at(bound):8}")
