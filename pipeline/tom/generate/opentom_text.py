"""The words of OpenToM-style narratives: places, wishes and ways of telling the same plot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.tom.generate.names import NAMES, VILLAGE, WORKPLACE, Names
from pipeline.tom.generate.styles import BENCHMARK

MORE, LESS = "more accessible", "less accessible"


@dataclass(frozen=True)
class NewPlace:
    """Where a thing may be moved to, and what that does to how easy it is to reach.

    Attributes:
        name: The place; ``{mover}`` stands for the mover.
        for_mover: What it means for the mover.
        for_observer: What it means for the observer.
        aim: Why somebody would move a thing there.
    """

    name: str
    for_mover: str
    for_observer: str
    aim: str


NEW_PLACES = (
    NewPlace("middle of the table", MORE, MORE, "put it within easy reach of everybody"),
    NewPlace("open shelf by the door", MORE, MORE, "let everybody find it at once"),
    NewPlace("top of the tall wardrobe", LESS, LESS, "keep it out of everybody's reach"),
    NewPlace("locked crate under the floor", LESS, LESS, "put it where nobody could get at it"),
    NewPlace("{mover}'s own backpack", MORE, LESS, "have it always at hand"),
    NewPlace("{mover}'s locked desk", MORE, LESS, "keep it for nobody else"),
)

LIKES, HATES, INDIFFERENT = "likes", "hates", "does not care about"


@dataclass(frozen=True)
class Telling:
    """One way of telling a plot; every sentence is a template.

    ``{mover}``, ``{observer}``, ``{thing}``, ``{room}``, the places ``{first}`` and ``{last}``,
    ``{aim}``, a ``{stranger}`` and ``{who}`` (who looks on in secret, or misses it) are filled in,
    and the time ``{left}`` at which somebody left.

    Attributes:
        names: The names its stories draw from.
        orders: Orders of the parts, of which a story takes one; ``event`` stands for what happens.
        parts: For each part the sentences that say it, of which a story takes one.
        asides: Sentences that fit between any two others and change nothing.
        endings: Sentences to end with that change nothing.
        timed: Sentences name the time, so that what happens is always told in the same order.
    """

    names: Names
    orders: tuple[tuple[str, ...], ...]
    parts: Mapping[str, tuple[str, ...]]
    asides: tuple[str, ...]
    endings: tuple[str, ...]
    timed: bool = False


# Parts: wish (the observer's preference) by kind; meet; found; what happens: open (nothing can be
# missed), company (a stranger is there too), move, leave, both_leave, and of the move: seen,
# glimpsed (in secret), missed (by somebody absent), overlooked (by somebody present), all_but (by
# one of several present).
_BENCHMARK = Telling(
    NAMES,
    (
        ("wish", "meet", "found", "event"),
        ("meet", "wish", "found", "event"),
        ("meet", "found", "wish", "event"),
    ),
    {
        "likes": (
            "{observer} was fond of the {thing}, as everybody knew.",
            "If there was one thing that {observer} could never have enough of, it was the "
            "{thing}.",
            "Ask anybody what {observer} liked best, and the {thing} was the answer.",
        ),
        "hates": (
            "{observer} could not stand the {thing}, as everybody knew.",
            "Few things annoyed {observer} as much as the {thing} did.",
            "Had it been for {observer} to say, the {thing} would have been thrown away long ago.",
        ),
        "does not care about": (
            "{observer} had no feelings about the {thing} either way.",
            "As for the {thing}, {observer} could take it or leave it.",
            "{observer} had never given the {thing} a second thought.",
        ),
        "meet": (
            "One afternoon {mover} and {observer} came into the {room} together.",
            "It was in the {room} that {mover} and {observer} found themselves that day, side by "
            "side.",
            "Talking about this and that, {observer} walked into the {room} with {mover}.",
        ),
        "found": (
            "There they both saw the {thing} in the {first}.",
            "The first thing that met their eyes in there was the {first}, with the {thing} in it.",
            "In the {first}, plain to see for both of them, lay the {thing}.",
        ),
        "open": (
            "The {room} was so small that nobody in it could miss what another did.",
            "Whatever one person did in that {room}, all others who were in it saw.",
            "From every corner of the {room} one saw all the rest of it, and all eyes were open.",
        ),
        "company": (
            "{stranger} had come along with them.",
            "With them was {stranger}, an old acquaintance of both.",
            "A third person, {stranger}, was there from the start.",
        ),
        "move": (
            "{mover}, who wanted to {aim}, carried the {thing} over to the {last}.",
            "To {aim} was what {mover} had in mind, and so the {thing} went to the {last}.",
            "Then {mover} picked up the {thing} and gave it a new place, the {last}, in order to "
            "{aim}.",
        ),
        "leave": (
            "{observer} went outside.",
            "The door opened, and out went {observer}.",
            "Something called {observer} away from the {room}.",
        ),
        "both_leave": (
            "{observer} and {stranger} went outside.",
            "The door opened, and out went {observer}, and {stranger} as well.",
            "Something called {observer} and {stranger} away from the {room}.",
        ),
        "seen": (
            "{observer} watched, and {mover} gave {observer} a nod on the way.",
            "All the while {observer} looked on, and {mover}, who noticed, smiled back.",
            "{mover} and {observer} even exchanged a few words about it while it was done.",
        ),
        "glimpsed": (
            "{mover} felt alone with it, but {who} saw everything through the window.",
            "{mover} would have sworn that nobody knew of it; yet through a gap in the door {who} "
            "had followed all of it.",
            "Without any idea of being watched, {mover} had been in full view of {who}, who stood "
            "behind the curtain.",
        ),
        "missed": (
            "{observer} did not come back that day.",
            "Of all this nothing reached {observer}, who was far away by then, as {mover} knew.",
            "{mover} was alone, and {observer}, who had long gone home, heard nothing of it.",
        ),
        "overlooked": (
            "{mover} took it that {who} was watching, but {who} was deep in a book and noticed "
            "nothing.",
            "{who} seemed to look on, and {mover} believed it; in truth {who} was asleep with open "
            "eyes and saw none of it.",
            "That {who} had followed it was clear to {mover}. But {who}, lost in a letter, had not "
            "looked up once.",
        ),
        "all_but": (
            "{mover} took it that all the others were watching, and so they were, but for {who}, "
            "who was deep in a book and noticed nothing.",
            "Everybody seemed to look on, and {mover} believed it; in truth one of them, {who}, "
            "was asleep with open eyes and saw none of it.",
            "That all had followed it was clear to {mover}. But one, {who}, lost in a letter, had "
            "not looked up once.",
        ),
    },
    (
        "The weather had been changing all week, and nobody trusted the morning's sunshine.",
        "{mover} was known for a good memory and for a great number of opinions.",
        "It was one of those days on which the clocks seem to walk more slowly than usual.",
        "Somewhere down the street a piano was being practised, always the same four bars.",
        "The {room} had been painted not long ago and still smelled a little of it.",
        "{observer} had slept badly and was glad that the day asked for so little.",
        "A neighbour had promised to call in the evening, which both of them had forgotten.",
        "There was talk of a fair in the next town, and of who might go there with whom.",
        "{mover} hummed a tune that had been on everybody's lips since the summer.",
        "The light fell through the blinds in narrow stripes and moved slowly along the floor.",
        "Years ago {observer} had lived in a much larger house and still spoke of it now and then.",
        "On the wall hung an old calendar that nobody had thought of turning for months.",
        "{mover} had a habit of putting everything off until there was hardly time for it.",
        "Outside a cart went by, and for a moment the glasses on the shelf trembled.",
        "People said that the {room} was the best part of the house, and perhaps it was.",
        "{observer} and {mover} had known each other since school, though not always well.",
        "That morning a parcel had come without a sender, which gave rise to many guesses.",
        "It was warm for the season, and a fly went round and round under the lamp.",
        "{mover} had read somewhere that small habits say more about people than large ones.",
        "There were still crumbs of the last breakfast about, and nobody felt called upon.",
        "{observer} wore the green jacket that had been mended more often than it was old.",
        "A radio played next door, too softly for anybody to make out the words.",
        "The floor of the {room} creaked in two places, and those who knew walked around them.",
        "Of the coming holidays little was settled, except that somebody would have to cook.",
        "{mover} owed {observer} a small favour, or perhaps it was the other way round.",
        "For lunch there had been soup, and what was left of it stood by the stove.",
        "Nobody was in a hurry, least of all {mover}, who had the whole day off.",
        "It had been agreed to speak no more about the broken lamp, and nobody did.",
    ),
    (
        "Nothing else happened that is worth telling.",
        "So the day went by, and in the evening it rained after all.",
        "Later there was tea, and the talk turned to other things.",
        "What became of it later is another story.",
    ),
)
_PROSE = Telling(
    VILLAGE,
    (
        ("meet", "found", "wish", "event"),
        ("wish", "meet", "found", "event"),
        ("meet", "wish", "found", "event"),
    ),
    {
        "likes": (
            "Nothing pleased {observer} more than the {thing}.",
            "The {thing} was dear to {observer}, and there was no secret about it.",
            "Whenever {observer} saw the {thing}, the day was saved.",
        ),
        "hates": (
            "The mere sight of the {thing} spoiled the day for {observer}.",
            "With the {thing} one could drive {observer} from any table.",
            "{observer} had sworn more than once to be rid of the {thing}.",
        ),
        "does not care about": (
            "The {thing} meant nothing at all to {observer}.",
            "{observer} would not have crossed the street for the {thing}, nor because of it.",
            "What others saw in the {thing}, for good or ill, {observer} could not have said.",
        ),
        "meet": (
            "It was raining, so {observer} and {mover} had taken shelter in the {room}.",
            "The storm had driven {mover} into the {room}, and {observer} too.",
            "Wet to the skin, {observer} and {mover} stood in the {room} and laughed.",
        ),
        "found": (
            '"Look," said {mover}, and pointed to the {first}: the {thing} lay in it. "I see it," '
            "said {observer}.",
            '"Is that the {thing} in the {first}?" asked {observer}. "So it is," said {mover}.',
            'Both bent over the {first}. "The {thing}!" they said as with one voice.',
        ),
        "open": (
            "In so narrow a place as the {room} they had each other in plain view.",
            "The {room} had no corner that an eye could not reach, and whoever was there saw all.",
            "One lamp lit the whole {room}, and nobody who was in it could miss a thing.",
        ),
        "company": (
            "{stranger} stood in there with them.",
            "{stranger}, caught by the same rain, made a third.",
            "There was a third guest in the {room}, {stranger} by name.",
        ),
        "move": (
            "To {aim}, {mover} took the {thing} to the {last}.",
            "Into the hands of {mover} went the {thing}, and from there to the {last}; this was "
            "meant to {aim}.",
            "{mover} thought it best to {aim}, and the {thing} changed its place for the {last}.",
        ),
        "leave": (
            "{observer} said goodbye and walked out into the rain.",
            "{observer} would wait no longer and made for home.",
            "Up went the collar, and {observer} was gone.",
        ),
        "both_leave": (
            "{observer} and {stranger} said goodbye and walked out into the rain.",
            "{observer} and {stranger} would wait no longer and made for home.",
            "Up went two collars, and {observer} and {stranger} were gone.",
        ),
        "seen": (
            '"I am taking it over there," {mover} had said aloud, under the eyes of {observer}.',
            '"There it goes," remarked {observer}, and {mover} answered with a laugh.',
            "{observer} stepped aside to let {mover} pass with it, and {mover} said thanks.",
        ),
        "glimpsed": (
            "{mover} was sure of being unobserved. Yet {who} had stopped at the keyhole and missed "
            "nothing.",
            "Not a soul had seen it, thought {mover}; but from the loft above, {who} had.",
            "{who}, unknown to {mover}, stood in the dark of the yard and saw it all.",
        ),
        "missed": (
            "By then the steps of {observer} outside had long died away.",
            "{observer} never learned of it, and {mover} knew as much.",
            "There was nobody else to see it, as {mover} well knew; {observer} was on the road.",
        ),
        "overlooked": (
            "{mover} believed that {who} followed it all; but {who} had fallen asleep by the stove "
            "and saw none of it.",
            '"You have seen it," said {mover}; but {who}, who nodded, had been dreaming.',
            "{mover} felt the eyes of {who} on it, while {who} stared into the fire and noticed "
            "nothing.",
        ),
        "all_but": (
            "{mover} believed that the others followed it all, and one did; but {who} had fallen "
            "asleep by the stove and saw none of it.",
            '"You have both seen it," said {mover}; so it was with one of them, but {who}, who '
            "nodded, had been dreaming.",
            "{mover} felt the eyes of both others on it, and was right about all but {who}, who "
            "stared into the fire and noticed nothing.",
        ),
    },
    (
        "The rain drummed upon the roof as if it had been paid for it.",
        "Old people said that such weather came every seven years, and young ones did not listen.",
        "The grandmother of {mover} would have known a song for this.",
        "A dog barked twice in the distance and then thought better of it.",
        "The mayor had broken a leg that week, and of course everybody had heard.",
        "{mover} shook the water from a hat that had seen better years.",
        "It smelled of hay, of smoke, and a little of wet wool.",
        "Of the next day people hoped for sunshine, though without much confidence.",
        "The harvest had been middling that year, neither a shame nor a joy.",
        "Once, it was told, the river had come up as far as the churchyard wall.",
        "A hen walked in, looked about with one eye, and walked out again.",
        "It thundered, first near and then far away, and the hens were not pleased.",
        "{observer} had walked the whole way from the market, as on every Thursday.",
        "The {room} belonged to a cousin of the smith, or so it was said.",
        "{observer} was always hungry, and that day the bread had been forgotten.",
        "The candle burned low and threw long shadows that nobody minded.",
        "{mover} and {observer} had quarrelled once, over a fence, and made it up over beer.",
        "There was a bench along the wall, polished by a hundred years of waiting.",
        "The feet of {mover} were wet, and that was beyond dispute.",
        "From the village came the sound of the bell, four strokes, or was it five?",
        "About the miller and his ghost there were two stories, and both were long.",
        "The wind went round the corner of the {room} and whistled in the thatch.",
        "Winter would be early, said the almanac, which said so every year.",
        "A spider had hung its net across the window, and drops sat in it like beads.",
    ),
    (
        "When the rain had stopped, the village looked as if newly washed.",
        "That was all, and it was told for a week at the inn.",
        "The bell rang for evening, and here the story ends.",
        "Then the clouds broke at last.",
    ),
)
_LOG = Telling(
    WORKPLACE,
    (
        ("event", "meet", "found", "wish"),
        ("wish", "event", "meet", "found"),
        ("event", "wish", "meet", "found"),
    ),
    {
        "likes": (
            "For the record: {observer} values the {thing} highly.",
            "Known preference of {observer}: the {thing}, strongly in favour.",
        ),
        "hates": (
            "For the record: {observer} has asked many times to be rid of the {thing}.",
            "Known preference of {observer}: the {thing}, strongly against.",
        ),
        "does not care about": (
            "For the record: the {thing} is of no concern to {observer}.",
            "Known preference of {observer}: the {thing}, none stated.",
        ),
        "meet": (
            "Earlier, at 9:00, {mover} and {observer} had both come to the {room}.",
            "Arrivals in the {room}, 9:00: {observer}, {mover}.",
        ),
        "found": (
            "At 9:05 both of them had seen the {thing} in the {first}.",
            "State at 9:05, confirmed by {observer} and {mover}: the {thing} was in the {first}.",
        ),
        "open": (
            "Whoever is in the {room} sees what is done there.",
            "The {room} is open plan; those present have all of it in view.",
        ),
        "company": (
            "{stranger} had come there at 9:00 as well.",
            "Also on site since 9:00: {stranger}.",
        ),
        "move": (
            "At 9:30 {mover} took the {thing} to the {last}, in order to {aim}.",
            "9:30, by {mover}: the {thing} to the {last}. Purpose: to {aim}.",
        ),
        "leave": ("{observer} left at {left}.", "Departure of {observer}: {left}."),
        "both_leave": (
            "{observer} and {stranger} left at {left}.",
            "Departure of {observer} and {stranger}: {left}.",
        ),
        "seen": (
            "{observer} stood beside {mover}, and they spoke about it.",
            "Witness: {observer}, whom {mover} greeted.",
        ),
        "glimpsed": (
            "{mover} knew of no witness, but {who} was following it on a camera.",
            "Witness, not known to {mover}: {who}, over the video link.",
        ),
        "missed": (
            "{observer} was not told.",
            "No witness, as {mover} confirms. Message to {observer}: none.",
        ),
        "overlooked": (
            "{mover} reports that {who} looked on. {who} was on the phone and turned to the wall, "
            "and did not notice.",
            "Witness according to {mover}: {who}. According to {who}, who was reading mail: "
            "nothing seen.",
        ),
        "all_but": (
            "{mover} reports that everybody looked on. All but one did: {who} was on the phone and "
            "turned to the wall, and did not notice.",
            "Witnesses according to {mover}: all present. All but one confirm. According to {who}, "
            "who was reading mail: nothing seen.",
        ),
    },
    (
        "The coffee machine on this floor was out of order until noon.",
        "Temperature in the {room}: 21 degrees, as usual.",
        "The lift was serviced that morning; the stairs were to be used.",
        "{mover} had booked the {room} for the whole morning.",
        "A fire drill had been announced for the following week.",
        "The badge of {observer} was due for renewal.",
        "A visitor asked for the exit and was shown the way.",
        "The window cleaners were on the north side of the building.",
        "{observer} had two meetings that day, both of them in the afternoon.",
        "Printer paper had been ordered and was expected on Friday.",
        "{mover} works in this building three days a week.",
        "The plants were watered by the cleaning staff.",
        "One lamp in the {room} flickers; a ticket is open.",
        "Lunch that day: lentils, or a salad.",
        "{observer} has been with the team since the spring.",
        "The parking garage was full by half past eight.",
        "An old poster about hand washing still hangs beside the door.",
        "Network: two short interruptions, no data lost.",
        "{mover} and {observer} share a calendar, which neither of them reads.",
        "The minutes of the last meeting have not been approved yet.",
        "A bicycle was reported missing and found again on the same day.",
        "The newsletter of the month went out with the wrong date.",
        "Somebody had left an umbrella in the {room}, and it is still there.",
        "The holiday plan for the next quarter is open for entries.",
    ),
    (
        "End of report.",
        "No further entries for this day.",
        "Signed off without remarks.",
    ),
    timed=True,
)
TELLINGS: Mapping[str, Telling] = {BENCHMARK: _BENCHMARK, "prose": _PROSE, "log": _LOG}
