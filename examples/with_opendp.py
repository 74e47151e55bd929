"""Two private counts under one OpenDP budget."""

import opendp.prelude as dp

from dpdistinct import Contributions, make_count_distinct
from dpdistinct.measurement import contributions_space

dp.enable_features("contrib", "honest-but-curious")

visits = Contributions.from_pairs([i % 500 for i in range(20_000)], [i % 3000 for i in range(20_000)])
context = dp.Context.compositor(
    data=visits,
    domain=contributions_space()[0],
    privacy_unit=dp.unit_of(contributions=1),
    privacy_loss=dp.loss_of(epsilon=2.0),
    split_evenly_over=2,
)
print(context(make_count_distinct(epsilon=1)))
print(context(make_count_distinct(epsilon=1, method="greedy")))
