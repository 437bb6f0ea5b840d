"""What is learned of targets: which releases are cut for them, and claims that numbers may refute."""

from indistinct_papers import mondrian_targets as targets
from indistinct_papers.mondrian_targets import CLASS_MEANS, LOSS, MEDIAN, SPECIALIZED, TARGET, Learned


def learned(target: str, kind: str, learner: str, error: float) -> Learned:
    return Learned(10, target, kind, learner, (error, error), 0.1, 1.0)


def test_one_release_is_cut_for_all_of_several_classes() -> None:
    both = targets.kinds_for(["income", "job"], numeric=False)
    assert both == {
        MEDIAN: "mondrian",
        LOSS: "mondrian:choose=loss",
        TARGET: "mondrian:choose=information-gain,target=income|job",
    }
    assert targets.kinds_for(["income"], numeric=False)[SPECIALIZED] == "tds:target=income"
    assert targets.kinds_for(["age"], numeric=True)[TARGET] == "mondrian:choose=variance,target=age"


def test_each_claim_is_judged_by_its_own_targets() -> None:
    made = [
        *(learned("income", kind, "naive-bayes", error) for kind, error in ((TARGET, 0.2), (MEDIAN, 0.3))),
        learned("income", SPECIALIZED, "naive-bayes", 0.1),
        *(learned("income, one of 2", kind, "naive-bayes", error) for kind, error in ((TARGET, 0.2), (MEDIAN, 0.3))),
        *(learned("job, one of 2", kind, "naive-bayes", error) for kind, error in ((TARGET, 0.4), (MEDIAN, 0.3))),
        *(learned("hours", kind, CLASS_MEANS, error) for kind, error in ((TARGET, 0.2), (MEDIAN, 0.3))),
    ]
    of_class, of_specialization, several, of_number = targets.claims_of(made, "income")
    assert (of_class.held, of_class.tested) == (of_number.held, of_number.tested) == (1, 1)
    assert (of_specialization.held, of_specialization.tested) == (0, 1)
    assert (several.verdict, several.held, several.tested) == ("depends", 1, 2)
    assert several.figures.endswith("not for job, one of 2 with naive-bayes, k = 10")
