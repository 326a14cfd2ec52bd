"""What people use today, to be held against prudent on the same rows.

A rival prices all actions for a row and takes the best; an action it never saw is priced -inf. Settings that matter
(leaf size, number of rounds, penalty, columns that mark gaps) are chosen by each rival on the log itself, by
cross-validation, out-of-bag error or leave-one-out error. `usual_policies` are those for a log of yours, as policies
that `prudent.evaluate` takes.
"""

from prudent.rivals.boosting import Boosting as Boosting
from prudent.rivals.designs import ActionAsFeature as ActionAsFeature
from prudent.rivals.designs import Design as Design
from prudent.rivals.designs import PerAction as PerAction
from prudent.rivals.forests import CORES as CORES
from prudent.rivals.forests import LEAVES as LEAVES
from prudent.rivals.forests import Forest as Forest
from prudent.rivals.forests import out_of_bag_error as out_of_bag_error
from prudent.rivals.imputation import DRAWS as DRAWS
from prudent.rivals.imputation import ChainedImputation as ChainedImputation
from prudent.rivals.imputation import Completed as Completed
from prudent.rivals.imputation import Imputation as Imputation
from prudent.rivals.imputation import MeanImputation as MeanImputation
from prudent.rivals.imputation import Numeric as Numeric
from prudent.rivals.imputation import beside_gaps as beside_gaps
from prudent.rivals.imputation import gap_choices as gap_choices
from prudent.rivals.imputation import mean_over_completions as mean_over_completions
from prudent.rivals.linear import Line as Line
from prudent.rivals.linear import Linear as Linear
from prudent.rivals.rival import FittedRival as FittedRival
from prudent.rivals.rival import LoggedDecisions as LoggedDecisions
from prudent.rivals.rival import Rival as Rival
from prudent.rivals.usual_policies import USUAL as USUAL
from prudent.rivals.usual_policies import RivalPolicy as RivalPolicy
from prudent.rivals.usual_policies import usual_policies as usual_policies
