"""The smallest policy that covers what was used, proven not to exceed the one in force.

Calls of a log are turned into rules (`policy.suggest.candidates`), few and no
wider than the calls give reason for; then every chain of the proposal is compared
with the same chain of the policy in force. A call that the proposal would grant
and the policy does not mends the proposal: the rule that denies it there is taken
over, or the rule that is too wide gives way to the calls it was made of.
"""

from policy.suggest.proposal import Proposal, propose
from policy.suggest.usage import Usage, usage_of

__all__ = ["Proposal", "Usage", "propose", "usage_of"]
