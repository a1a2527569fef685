"""Interpretations of the contract where its text leaves a choice, each with the text it is based on.

The switches below are those where two readings are both defensible; the value is the reading in use, and
turning one shows at once which answers hang on it. The rest of this list are readings without a switch.

1.  Ties in "newest first" (runs of one millisecond): nothing is said. By the percent-encoded run id,
    ascending; only through this do we know which of two namesakes in one millisecond keeps its plain name.
2.  "known": an indirect input of a WRITE makes no field of the destination, so it can be 404 there.
    `*` is a field only where some run reads or writes a field of that name.
3.  "a READ without fields": one that neither lists a field nor has one taken from it (an unlisted field that
    is taken counts as listed). A WRITE that has only indirect inputs is not "without inputs".
4.  Unknown is told only for (source, destination) between which the same run has no pair, not even an
    indirect one: "it may stand beside the pairs of other runs". `indirect=false` does not change that.
5.  A drop by an indirect input, or of a field made over an indirect step, is an indirect pair.
6.  A filter on a generated field gives no pair: there is no source field.
7.  The pair of an influence on the whole destination carries `"influence": "indirect"` too; of two pairs with
    the same ends the one with a scope sorts last.
8.  "when the cap left something unasked": some end point found at the last hop was not asked about, whether
    or not it had anything to say; a `level` up to the cap never truncates.
9.  Which of several descriptions of an end point, or types of a field, the catalogue shows is not said: any
    that a run ever gave (failed and replaced ones too). A destination field has the type its origin says.
10. `namespaces` are those of end points, not those of programs; names in that list are plain strings.
11. A renamed operation carries the checksum of the newest content that has it; names are compared only
    among the operations that stand in the answer.
12. Forward, a WRITE is listed for an indirect input too, unless `indirect=false`; backward, a WRITE only
    where it takes the field, and what its indirect inputs rest on is not in the answer.
13. `view=simple`: a transform without inputs is no ultimate source; the ways are those of each run's content,
    not mixtures of two; `operations` and `checksums` of the whole answer are those of the detailed view;
    a connection over indirect ways alone carries `"influence": "indirect"`.
14. In the first design's `paths`, `inputs` and `outputs` are those of the whole operation in the newest run
    of that way, as sets of names.
15. First design, a source beside fields or other sources: a READ `<op>.read` (made unique) with the
    operation's description and outputs, all of which the operation then takes from it.
    A field that `destination` lists is taken from its latest maker even when it was dropped; one that was
    never made is 422.
16. A `state` that is left out is `COMPLETE`; a `version` that is left out is not the same as some version.
17. A cycle together with other faults is told beside them; its place is somewhere under `operations`.
18. Operations are the same content in any order; the order of inputs and outputs counts.
"""

PATHS_SHOW_UNLISTED = True
"""First design: `outputs` hold fields that others take unlisted: "it is treated as though it were listed"."""

IDENTITY_HOLDS_UNLISTED = False
"""Operations differ when something unlisted is taken of one alone: "identical operations (…, outputs)"."""

IDENTITY_IGNORES_ORDER = False
"""Operations are identical when inputs and outputs are the same sets: seed 000 has sets, JSON has lists."""

BOTH_INFLUENCES_SHOWN = False
"""A field taken directly and indirectly by one operation makes two connections; else only the direct one."""

INFLUENCED_WRITE_IS_DESTINATION = False
"""Forward, a node that a WRITE takes only indirectly has a `destinationEndPoint`: "every node that a WRITE
takes"; else only what becomes a field there (seed 003: "if this node is … written")."""

SAME_NEEDS_NAMESPACE = True
"""A run sent again under another `<ns>` is replaced though its checksum and members of `run` are the same."""
