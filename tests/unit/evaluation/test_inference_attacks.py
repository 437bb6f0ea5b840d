"""Attacks by inference: each where it must succeed and where it must fail."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ind
from indistinct.evaluation.attack import definetti
from indistinct.evaluation.attack.attack import attack, target_of
from indistinct.evaluation.attack.finer import rows_by_chance, settle, shown_classes
from indistinct.evaluation.attack.matching import evidence_of
from indistinct.evaluation.attack.minimality import deal, known_table, posterior, ways_to_deal
from indistinct.evaluation.attack.registry import ATTACKS
from indistinct.samples.census import generate_census
from indistinct.tables.domain import Domain
from references.local_by_states import recode_by_states


def made(quasi, sensitive, dependence, *, rows=4000, seed=3):
    """Return a table in which the sensitive value follows the first quasi-identifier with some probability."""
    random = np.random.default_rng(seed)
    columns = {name: random.integers(0, 6, rows) for name in quasi}
    drawn = random.integers(0, 6, rows)
    follows = random.random(rows) < dependence
    return pa.table({**columns, sensitive: np.where(follows, columns[quasi[0]], drawn).astype(str)})


def bucketed(table, *, algorithm="anatomy:l=3", sensitive="s"):
    schema = ind.Schema(quasi=[name for name in table.column_names if name != sensitive], sensitive=[sensitive])
    return ind.anonymize(table, schema, algorithm=algorithm, seed=1)


class TestDeFinetti:
    @pytest.mark.parametrize(("algorithm", "gain"), [("anatomy:l=3", 0.2), ("slicing:l=3,columns=a+b+c|s", 0.04)])
    def test_values_that_follow_from_quasi_identifiers_are_guessed(self, algorithm, gain):
        table = made(["a", "b", "c"], "s", 0.8)
        found = attack("definetti", bucketed(table, algorithm=algorithm), original=table)
        assert found.succeeds
        assert found.details["gain_interval"][0] > gain
        assert found.control is None

    def test_independent_values_are_not_guessed(self):
        for seed in range(4):
            table = made(["a", "b", "c"], "s", 0.0, seed=seed)
            found = attack("definetti", bucketed(table), original=table)
            assert abs(found.tally.share - found.baseline) < 0.03

    def test_people_outside_are_guessed_by_what_was_learned(self):
        # The rule holds for everybody, and the buckets still tell more of those inside.
        table, outside = made(["a", "b", "c"], "s", 0.8), made(["a", "b", "c"], "s", 0.8, rows=1000, seed=9)
        found = attack("definetti", bucketed(table), original=table, control=outside)
        assert found.control is not None
        assert found.control.attempts == 1000
        assert 0.5 < found.control.share < found.tally.share
        assert 0 < found.risk < found.tally.share

    def test_a_control_without_the_sensitive_column_is_an_error(self):
        table = made(["a", "b"], "s", 0.5, rows=60)
        with pytest.raises(ind.InputError, match="the control has no column 's'"):
            attack("definetti", bucketed(table), original=table, control=table.select(["a", "b"]))

    def test_the_census_like_table_in_buckets_of_four(self):
        table = generate_census(20_000, seed=1)
        quasi = [name for name in table.column_names if name != "occupation"]
        schema = ind.Schema(quasi=quasi, sensitive=["occupation"])
        found = attack("definetti", ind.anonymize(table, schema, algorithm="anatomy:l=4"), original=table)
        assert found.baseline == pytest.approx(0.25, abs=0.001)
        assert found.details["gain_interval"][0] > 0.15

    def test_rows_with_equal_values_are_judged_by_what_they_can_be(self):
        # All rows look alike, so nobody can do better than the share of a value in its bucket.
        table = pa.table({"q": ["x"] * 12, "s": ["a", "b", "c"] * 4})
        found = attack("definetti", bucketed(table), original=table)
        assert found.tally.successes == pytest.approx(4)
        assert found.baseline == pytest.approx(1 / 3)

    @pytest.mark.parametrize("dependence", [0.0, 0.8])
    def test_what_is_expected_of_equal_rows_is_near_the_truth(self, dependence):
        """A number in every row tells which one it is: the judge is asked with it and without, of the same guesses."""
        table = made(["a", "b"], "s", dependence).add_column(2, "id", pa.array(np.arange(4000)))
        target = target_of(bucketed(table), original=table)
        evidence = evidence_of(target)
        shown, values = evidence.slices
        dealt = definetti.Dealt.of(shown, values, "s", sizes=[len(evidence.known[name]) for name in shown.names])
        exact = definetti._right(dealt, shown, target, column="s", known=evidence.known)
        alike, known = replace(dealt, features=dealt.features[:2], sizes=dealt.sizes[:2]), evidence.known
        guesses = definetti.learn(alike, rounds=30, prior=1.0)
        expected = definetti._right(
            alike, replace(shown, codes={name: shown.codes[name] for name in "ab"}), target, column="s", known=known
        )
        assert set(np.unique(exact)) == {0.0, 1.0}
        assert alike.expected_hits(guesses, expected) == pytest.approx(
            alike.expected_hits(guesses, exact), abs=4000 * 0.06
        )

    def test_another_original_is_an_error(self):
        table = made(["a", "b"], "s", 0.5, rows=60)
        other = table.set_column(0, "a", pa.array(np.full(60, 99)))
        with pytest.raises(ind.InputError, match="does not contain the release"):
            attack("definetti", bucketed(table), original=other)

    def test_it_wants_buckets(self):
        table = made(["a", "b"], "s", 0.5, rows=60)
        schema = ind.Schema(quasi=["a", "b"], sensitive=["s"])
        release = ind.anonymize(table, schema, model="k-anonymity:k=3", algorithm="mondrian")
        with pytest.raises(ind.ParameterError, match="it is in classes"):
            attack("definetti", release, original=table)

    @pytest.mark.parametrize("spec", ["definetti:rounds=0", "definetti:prior=0"])
    def test_parameters(self, spec):
        with pytest.raises(ind.ParameterError):
            attack(spec, made(["a"], "s", 0, rows=3), ind.Schema(quasi=["a"], sensitive=["s"]))


TREE = ind.Hierarchy.tree({"*": {"Q": ["q1", "q2"], "R": ["r1"]}})


def generalized(groups, model, algorithm="optimal"):
    """Return a table whose cells have some sensitive values, and its release."""
    rows = [(cell, value) for cell, values in groups.items() for value in values]
    table = pa.table({"q": [row[0] for row in rows], "s": [row[1] for row in rows]})
    schema = ind.Schema(quasi=["q"], sensitive=["s"])
    return table, ind.anonymize(table, schema, model=model, algorithm=algorithm, hierarchies={"q": TREE})


class TestMinimality:
    ALPHA = "alpha-k:sensitive=s,alpha=0.5,k=2,protected=hiv"

    @pytest.mark.parametrize("algorithm", ["optimal", "incognito", "mondrian"])
    def test_a_class_that_was_generalized_for_its_values_tells_them(self, algorithm):
        # In the manner of Wong et al.: q1 alone broke the model, so q1 has both sick people, and q2 none.
        table, release = generalized({"q1": ["hiv"] * 2, "q2": ["flu"] * 8}, self.ALPHA, algorithm)
        found = attack("minimality", release, original=table, hierarchies={"q": TREE})
        assert (found.tally.successes, found.details["certain"]) == (10, 10)
        assert (found.details["worlds"], found.details["possible"]) == (3, 1)
        assert found.baseline == pytest.approx((2 * 0.2 + 8 * 0.8) / 10)
        assert found.succeeds

    def test_chances_are_weighed_by_the_number_of_tables(self):
        # Three or four of the four people of q1 are sick: 4 · 16 dealings, or one.
        table, release = generalized({"q1": ["hiv"] * 4, "q2": ["flu"] * 16}, self.ALPHA)
        target = target_of(release, original=table, hierarchies={"q": TREE})
        chances, kept = posterior(known_table(target, ("s",)), target, worlds=100)
        sick = (64 * 3 / 4 + 1) / 65
        assert kept == 2
        assert chances[0].tolist() == pytest.approx([1 - sick, sick])
        assert chances.sum(axis=1).tolist() == pytest.approx([1, 1])

    def test_an_algorithm_that_looks_at_sizes_alone_tells_nothing(self):
        table, release = generalized({"q1": ["hiv"], "q2": ["flu"] * 4 + ["hiv"]}, "k-anonymity:k=2")
        found = attack("minimality", release, original=table, hierarchies={"q": TREE})
        assert (found.tally.successes, found.baseline, found.succeeds) == (0, 0, False)
        # The same by force: every possible table gives this release, and the chances are those of the class.
        target = target_of(release, original=table, hierarchies={"q": TREE})
        known = known_table(target, ("s",))
        chances, kept = posterior(known, target, worlds=100)
        assert kept == known.number(100) == 2
        assert chances == pytest.approx(known.shares())

    def test_a_release_that_needed_no_generalization_tells_little(self):
        table, release = generalized({"q1": ["hiv", "flu"], "q2": ["flu", "hiv"]}, self.ALPHA)
        found = attack("minimality", release, original=table, hierarchies={"q": TREE})
        assert (found.details["named"], found.succeeds) == (0, False)

    def test_large_tables_are_refused(self):
        table, release = generalized({"q1": [*"abcdef"] * 5, "q2": ["a"] * 40}, "distinct-l-diversity:sensitive=s,l=2")
        with pytest.raises(ind.ParameterError, match="more than 2,000 possible tables"):
            attack("minimality", release, original=table, hierarchies={"q": TREE})

    def test_another_algorithm_does_not_make_the_release(self):
        table, release = generalized({"q1": ["hiv"] * 2, "q2": ["flu"] * 8}, self.ALPHA)
        with pytest.raises(ind.InputError, match="does not make this release"):
            attack(
                "minimality",
                release,
                original=table,
                hierarchies={"q": TREE},
                model="entropy-l-diversity:sensitive=s,l=1",
            )

    def test_random_choices_are_refused(self):
        table, release = generalized({"q1": ["hiv"] * 2, "q2": ["flu"] * 8}, self.ALPHA, "optimal:choice=0.1")
        with pytest.raises(ind.ParameterError, match="draws at random"):
            attack("minimality", release, original=table, hierarchies={"q": TREE})

    def test_a_population_is_no_sensitive_column(self):
        table = pa.table({"q": ["q1", "q2"] * 3, "s": ["hiv", "flu"] * 3})
        known = {"schema": ind.Schema(quasi=["q"], sensitive=["s"]), "hierarchies": {"q": TREE}, "algorithm": "optimal"}
        register = pa.table({"q": ["q1", "q2"] * 9})
        release = ind.anonymize(table, **known, model="k-map:k=4", population=register)
        assert attack("minimality", release, original=table).details["named"] == 0
        both = "k-map:k=4 & distinct-l-diversity:sensitive=s,l=2"
        release = ind.anonymize(table, **known, model=both, population=register)
        with pytest.raises(ind.ParameterError, match="compares with a population"):
            attack("minimality", release, original=table)

    def test_it_needs_the_algorithm(self):
        table, release = generalized({"q1": ["hiv"] * 2, "q2": ["flu"] * 8}, self.ALPHA)
        schema = ind.Schema(quasi=["q"], sensitive=["s"])
        with pytest.raises(
            ind.ParameterError,
            match="it needs the model that the release was made for",
        ):
            attack("minimality", release.table, schema, original=table, hierarchies={"q": TREE})

    def test_every_dealing_is_counted(self):
        tables = list(deal((3, 2, 2), (2, 4, 1)))
        assert len(tables) == len(set(tables)) == ways_to_deal((3, 2, 2), (2, 4, 1), limit=1000)
        for table in tables:
            assert [sum(row) for row in table] == [3, 2, 2]
            assert [sum(column) for column in zip(*table, strict=True)] == [2, 4, 1]
        assert ways_to_deal((50,) * 20, (100,) * 10, limit=500) > 500


AGES = [*range(20, 68, 3)]


def aged(ages, *, model="k-anonymity:k=2", algorithm="mondrian", **options):
    table = pa.table({"age": ages, "s": ["x"] * len(ages)})
    schema = ind.Schema(quasi=["age"], sensitive=["s"])
    return table, ind.anonymize(table, schema, model=model, algorithm=algorithm, **options)


class TestDowncoding:
    def test_classes_of_two_rows_in_one_column_come_back_exactly(self):
        table, release = aged(AGES)
        found = attack("downcoding", release, original=table)
        assert (found.tally.attempts, found.tally.successes) == (16, 16)
        assert found.baseline == pytest.approx(0.75)  # one of two rows has one of two values
        assert found.succeeds
        assert "extent=region" in found.defence

    def test_regions_tell_nothing(self):
        table, release = aged(AGES, algorithm="mondrian:extent=region")
        found = attack("downcoding", release, original=table)
        assert (found.tally.attempts, found.tally.successes, found.details["claimed"]) == (16, 0, 0)
        assert not found.succeeds

    def test_a_file_shows_by_its_labels_whether_they_are_regions(self):
        schema = ind.Schema(quasi=["age"], sensitive=["s"])
        for algorithm, right in (("mondrian", 16), ("mondrian:extent=region", 0)):
            table, release = aged(AGES, algorithm=algorithm)
            found = attack("downcoding", release.table, schema, original=table)
            assert (found.tally.successes, found.details["wrong"]) == (right, 0)

    def test_a_closest_common_ancestor_of_two_children_has_both(self):
        tree = ind.Hierarchy.tree({"*": {"A": ["a1", "a2"], "B": ["b1", "b2"]}})
        table = pa.table({"q": ["a1", "a2", "b1", "b2"] * 3, "s": ["x"] * 12, "r": ["1"] * 4 + ["2"] * 4 + ["3"] * 4})
        schema = ind.Schema(quasi=["q", "r"], sensitive=["s"])
        hierarchies = {"q": tree, "r": ind.Hierarchy.suppression()}
        release = ind.anonymize(table, schema, model="k-anonymity:k=2", algorithm="kaca", hierarchies=hierarchies)
        found = attack("downcoding", release, original=table, hierarchies=hierarchies)
        assert found.details["columns"]["q"] == {"coarse": 12, "claimed": 12, "right": 12}

    def test_one_level_for_a_column_tells_nothing_where_many_classes_may_have_needed_it(self):
        tree = ind.Hierarchy.tree({"*": {"A": ["a1", "a2"], "B": ["b1", "b2"]}})
        table = pa.table({"q": ["a1", "a1", "a2", "b1", "b2", "b2"], "s": ["x"] * 6})
        schema = ind.Schema(quasi=["q"], sensitive=["s"])
        release = ind.anonymize(table, schema, model="k-anonymity:k=3", algorithm="optimal", hierarchies={"q": tree})
        found = attack("downcoding", release, original=table, hierarchies={"q": tree})
        assert (found.tally.attempts, found.tally.successes) == (6, 0)

    @pytest.mark.parametrize("algorithm", ["optimal", "samarati", "incognito"])
    def test_the_only_class_that_a_finer_level_splits_has_rows_on_both_sides(self, algorithm):
        tree = ind.Hierarchy.tree({"*": {"A": ["a1", "a2"], "B": ["b1"]}})
        table = pa.table({"q": ["a1", "a2", "a2", "b1", "b1"], "s": ["x"] * 5})
        schema = ind.Schema(quasi=["q"], sensitive=["s"])
        release = ind.anonymize(table, schema, model="k-anonymity:k=2", algorithm=algorithm, hierarchies={"q": tree})
        found = attack("downcoding", release, original=table, hierarchies={"q": tree})
        assert (found.details["claimed"], found.details["wrong"]) == (2, 0)

    def test_a_node_that_was_drawn_among_nearly_optimal_ones_tells_nothing(self):
        tree = ind.Hierarchy.tree({"*": {"A": ["a1", "a2"], "B": ["b1"]}})
        table = pa.table({"q": ["a1", "a2", "a2", "b1", "b1"], "s": ["x"] * 5})
        schema, model = ind.Schema(quasi=["q"], sensitive=["s"]), "k-anonymity:k=2"
        release = ind.anonymize(table, schema, model=model, algorithm="optimal:choice=0.05", hierarchies={"q": tree})
        found = attack("downcoding", release, original=table, hierarchies={"q": tree})
        assert found.details["claimed"] == 0

    def test_what_chance_gives_is_that_of_random_rows(self):
        random = np.random.default_rng(1)
        sizes, chances, rows = np.array([2, 6, 5]), np.array([0.5, 0.2, 1 / 3]), np.array([1, 3, 2])
        drawn = np.minimum(random.binomial(sizes, chances, (200_000, 3)), rows).mean(axis=0)
        assert rows_by_chance(sizes, chances, rows) == pytest.approx(drawn, abs=0.01)

    def test_overlapping_labels_are_settled_by_sizes(self):
        tree = ind.Hierarchy.tree({"*": {"A": ["a1", "a2"], "B": ["b1", "b2"]}})
        table = pa.table({"q": ["a1", "a1", "a2", "b1", "b2"], "s": ["x"] * 5})
        published = pa.table({"q": ["a1", "a1", "*", "*", "*"], "s": ["x"] * 5})
        schema = ind.Schema(quasi=["q"], sensitive=["s"])
        shown = shown_classes(target_of(published, schema, original=table, hierarchies={"q": tree}))
        found, settled = settle(shown, whole=False)
        assert settled.all()
        assert np.bincount(found, weights=shown.cells.counts).tolist() == shown.classes.sizes.tolist()

    def test_an_original_with_fewer_rows_is_an_error(self):
        table, release = aged([20, 23, 31, 36])
        with pytest.raises(ind.InputError, match="does not contain the release"):
            attack("downcoding", release, original=table.slice(0, 3))

    def test_buckets_are_not_generalized(self):
        table = made(["a"], "s", 0.0, rows=60)
        with pytest.raises(ind.ParameterError, match="it is in buckets"):
            attack("downcoding", bucketed(table), original=table)


class TestCombinatorialRefinement:
    TREE = ind.Hierarchy.tree({"*": {"A": ["a1", "a2"], "B": ["b1", "b2"], "C": ["c1", "c2", "c3"]}})

    def released(self, values, *, k):
        table = pa.table({"q": values, "s": ["x"] * len(values)})
        schema = ind.Schema(quasi=["q"], sensitive=["s"])
        texts = sorted(set(values))
        taxonomy = self.TREE.bind(Domain("q", pa.array(texts)))
        labels = recode_by_states([(texts.index(value),) for value in values], [taxonomy], k=k)
        kept = [place for place, label in enumerate(labels) if label is not None]
        published = pa.table({"q": [labels[place][0] for place in kept], "s": ["x"] * len(kept)})
        return table.take(kept), published, schema

    def attacked(self, values, *, k):
        table, published, schema = self.released(values, k=k)
        return attack(
            f"combinatorial-refinement:k={k}", published, schema, original=table, hierarchies={"q": self.TREE}
        )

    def test_a_full_class_below_few_nodes_comes_back_whole(self):
        # Twenty rows below A, and no eleven of them alike: ten are a1, and ten are a2.
        found = self.attacked(["a1"] * 10 + ["a2"] * 10 + ["b1"] * 10 + ["b2"] * 10 + ["c1"] * 11, k=11)
        assert (found.tally.attempts, found.tally.successes, found.details["wrong"]) == (40, 40, 0)
        assert found.succeeds

    def test_cells_that_were_taken_out_narrow_those_that_are_left(self):
        # Of three rows below A one is a1 and one a2; of three at the top c1 and c2 are not, so one is b1, and one c3.
        values = ["a1"] * 2 + ["a2"] * 1 + ["b1"] * 2 + ["c1"] * 3 + ["c2"] * 3 + ["c3"] * 1
        found = self.attacked(values, k=3)
        assert (found.tally.attempts, found.tally.successes, found.details["wrong"]) == (6, 4, 0)

    def test_wide_nodes_tell_nothing(self):
        tree = {f"w{number}": 1 for number in range(12)}
        hierarchy = ind.Hierarchy.tree({"*": {"W": list(tree), "V": ["v"]}})
        table = pa.table({"q": [*list(tree)[:6], "v", "v", "v"], "s": ["x"] * 9})
        published = pa.table({"q": ["W"] * 6 + ["v"] * 3, "s": ["x"] * 9})
        schema = ind.Schema(quasi=["q"], sensitive=["s"])
        found = attack("combinatorial-refinement:k=3", published, schema, original=table, hierarchies={"q": hierarchy})
        assert (found.details["claimed"], found.succeeds) == (0, False)

    def test_a_release_that_was_made_otherwise_contradicts_the_order(self):
        table = pa.table({"q": ["a1"] * 5 + ["a2"] * 5, "s": ["x"] * 10})
        published = pa.table({"q": ["A"] * 10, "s": ["x"] * 10})
        schema = ind.Schema(quasi=["q"], sensitive=["s"])
        found = attack("combinatorial-refinement:k=3", published, schema, original=table, hierarchies={"q": self.TREE})
        assert (found.details["claimed"], found.details["contradictions"]) == (0, 1)

    def test_full_domain_recodings_are_refused(self):
        table = pa.table({"q": ["a1", "a2", "b1", "b2"], "s": ["x"] * 4})
        schema = ind.Schema(quasi=["q"], sensitive=["s"])
        tree = {"q": self.TREE}
        release = ind.anonymize(table, schema, model="k-anonymity:k=2", algorithm="optimal", hierarchies=tree)
        with pytest.raises(ind.ParameterError, match="optimal publishes a value alike everywhere"):
            attack("combinatorial-refinement", release, original=table, hierarchies=tree)


def test_the_four_are_registered():
    assert {"definetti", "minimality", "downcoding", "combinatorial-refinement"} <= set(ATTACKS)
