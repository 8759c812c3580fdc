"""Pools of names that generated stories draw from.

``NAMES`` shares most of its names with Hi-ToM and ToMi, whose generators draw from the same ones,
so that a model trained on generated stories meets few unknown names in the canonical sets. The
other pools share next to none with ``NAMES``: they are for stories in other words.
"""

from __future__ import annotations

from dataclasses import dataclass


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_AGENTS = _words(
    "Abigail Adam Bella Caleb Clara David Diana Edward Elise Felix Fiona George Aiden Alexander "
    "Amelia Ava Avery Benjamin Carter Charlotte Chloe Elizabeth Ella Emily Emma Evelyn Hannah "
    "Isabella Isla Jack Jackson Jacob Liam Lily Logan Mila Nathan Noah Owen Sophia"
)
_OBJECTS = _words(
    "apple apricot banana beet broccoli cabbage carrot celery cherry corn cucumber asparagus "
    "eggplant grapefruit lettuce lemon lime persimmon melon pineapple strawberry onion orange "
    "tangerine watermelon peach pear sweet_potato plum potato pumpkin green_pepper radish spinach "
    "tomato turnip yam"
)
_ROOMS = _words(
    "attic balcony basement bathroom bedroom cellar chapel closet back_yard den dining_room "
    "crawlspace front_yard garage garden hallway hall kitchen laundry living_room TV_room lounge "
    "playroom office pantry patio porch staircase study workshop"
)
_CONTAINER_NOUNS = _words(
    "bathtub basket bottle container box bucket cupboard envelope suitcase crate drawer pantry "
    "treasure_chest"
)
_COLOURS = ("blue", "green", "red")
CONTAINERS = tuple(f"{colour}_{noun}" for noun in _CONTAINER_NOUNS for colour in _COLOURS)


@dataclass(frozen=True)
class Names:
    """The names a generator may use."""

    agents: tuple[str, ...] = _AGENTS
    objects: tuple[str, ...] = _OBJECTS
    rooms: tuple[str, ...] = _ROOMS
    containers: tuple[str, ...] = CONTAINERS


NAMES = Names()


def plain(name: str) -> str:
    return name.replace("_", " ")


_VILLAGERS = _words(
    "Agnes Aidan Bertha Boris Carmen Cyril Daphne Dylan Edith Ernest Flora Frank Gemma Gregory "
    "Hazel Hugo Ingrid Ivan Jasper Judith Karl Kira Lionel Lydia Magnus Myra Neil Nora Otto "
    "Petra Philip Ramona Rupert Selma Silas Tamara Tobias Ursula Vincent Yvonne"
)
_VILLAGE_OBJECTS = _words(
    "acorn anvil axe bell blanket brush bugle candle clog compass drum feather fiddle flask "
    "flute hammer horn kettle ladle lantern locket mitten mug pebble pipe plate quilt ribbon "
    "rope saddle scarf sickle spoon thimble trowel whistle wreath"
)
_VILLAGE_ROOMS = _words(
    "abbey arbour bakery barn boathouse brewery chapel cottage cowshed dairy farmhouse forge "
    "granary hayloft henhouse inn kiln lodge mill orchard outhouse sawmill school shed smithy "
    "stable tannery tavern vestry vineyard"
)
_WORKERS = _words(
    "Aiko Amara Anil Anya Bao Chidi Dara Deepa Emeka Esra Farid Fatima Goran Hana Imran Indira "
    "Jamal Jin Kofi Lamar Leila Ling Malik Mei Mira Naveen Nadia Omar Pavel Priya Rahim Rosalia "
    "Sana Sanjay Soraya Tariq Thandi Wei Yusuf Zara"
)
_WORK_OBJECTS = _words(
    "adapter badge battery binder calculator camera charger clipboard compass contract diary "
    "envelope eraser folder headset invoice keyboard lanyard laptop ledger manual marker "
    "microphone mouse notebook passport pencil printout projector receipt ruler scanner stapler "
    "stopwatch tablet torch voucher"
)
_WORK_ROOMS = _words(
    "annex archive atrium auditorium bay bureau cafeteria canteen checkpoint clinic cloakroom "
    "depot dispatch foundry gym hangar infirmary kiosk laboratory loft mailroom plant portal "
    "reception showroom stockroom studio terminal vault warehouse"
)


def _each(adjectives: str, nouns: str) -> tuple[str, ...]:
    return tuple(f"{one} {noun}" for noun in _words(nouns) for one in _words(adjectives))


VILLAGE = Names(
    _VILLAGERS,
    _VILLAGE_OBJECTS,
    _VILLAGE_ROOMS,
    _each("oak pine old", "barrel cask chest churn coffer hamper keg pail sack tin trunk tub urn"),
)
"""Other names, as many of each kind as in ``NAMES``: the same draws give the same story."""

WORKPLACE = Names(
    _WORKERS,
    _WORK_OBJECTS,
    _WORK_ROOMS,
    _each(
        "grey steel wooden",
        "bin box cabinet carton case compartment container drawer locker pouch rack safe shelf",
    ),
)
"""Again other names, as many of each kind."""
