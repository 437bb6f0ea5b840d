"""People's names by their shape and by how their parts repeat; a column of them points at people and is dropped.

Given names and family names recombine: one meets many of the other. Names of towns, firms and jobs do not. A few names
that are frequent in many countries help where the shape says little, as in a column of given names. What is found is
likely and not certain, and a column of rare names of one word is not found at all.
"""

import re
import unicodedata
from collections.abc import Sequence

from indistinct.figures import percent
from indistinct.inspection.patterns.base import MIN_SHARE_FOR_ROLE, PatternShare
from indistinct.schema import Role


def _split_words(text: str) -> list[str]:
    return text.split()


PARTICLES = frozenset(
    _split_words("""
    al af av ben bin bint da das de dei del della den der des di do dos du e el ibn la las le les
    los san st te ten ter und van vom von y zu zum zur
""")
)
# Fewest distinct values to judge, other parts that a part occurs with on average, share of rows with a frequent name.
FEWEST, RECOMBINED, FREQUENT_SHARE, NEARLY_UNIQUE, ENOUGH_ROWS = 10, 1.5, 0.15, 0.9, 20
# Number of letters of names in Han letters or Hangul.
SHORTEST_EAST, LONGEST_EAST = 2, 4
FREQUENT = frozenset(
    _split_words("""
    adam agnieszka ahmed aisha alejandro aleksandra alexander alexandra alice ali amelia amina amir
    ana andrea andreas andrew andrzej angela anita anna anne anthony antonio arjun astrid ayşe
    barbara beatriz ben benjamin birgit björn brian camille carla carlos carmen carol catherine cem
    charlotte chloé chris christian christina christine claire clara claudia daniel daniela david
    deborah diego dmitri donald edward ekaterina elena elisabeth elizabeth ella emil emily emine
    emma enrique eric erik esther ewa eva fatima fatma felix fernando finn francesca francesco
    francisco frank françoise frederik gabriel george gerhard giovanni giulia giuseppe grace hannah
    hans harry hasan heike helen helena helga henry hugo hüseyin ibrahim ida ines ingrid irene
    isabel isabella ivan jacob jakob james jan jane jean jennifer jens jessica joan joão john jonas
    jorge josé joseph juan julia julie jürgen karen karin karl katarzyna katherine kevin khalid
    klaus kristina krzysztof lars laura layla lea leon leonardo léa lena liam linda lisa louis
    louise lucas lucia luca luis luke magdalena małgorzata manuel margaret maria marie mario mark
    marta martin mary mateo matteo matthew max mehmet mette mia michael michel michelle miguel
    mohamed mohammed monica monika mustafa nadia nancy natalia nathan nicholas nicole nina noah nora
    oliver olga olivia omar oscar pablo patricia patrick paul paula pedro peter petra philip
    philippe pierre piotr priya rachel rahul ralf ravi rebecca renate ricardo richard robert roberto
    rosa rose ruth samuel sandra sara sarah sebastian sofia sophie stefan stefanie stephen steven
    susan susanne sven svetlana tatiana teresa thomas tim tobias tom tomasz ursula valentina vera
    victor victoria vincent walter werner william wolfgang yasmin yusuf zoe
    александр александра алексей алина анастасия анатолий андрей анна антон борис валентина василий
    вера виктор виктория владимир галина дарья дмитрий евгений екатерина елена иван игорь ирина
    ксения людмила максим марина мария михаил надежда наталья николай оксана олег ольга павел полина
    светлана сергей софия татьяна юлия юрий
    αλέξανδρος άννα βασίλης γεωργία γεώργιος γιάννης γιώργος δημήτρης ελένη ιωάννης κατερίνα κώστας
    μαρία νίκος σοφία χρήστος
    أحمد إبراهيم حسن حسين خالد زينب سارة عبد عبدالله علي عمر فاطمة ليلى محمد محمود مريم مصطفى نور
    يوسف
    אברהם דוד יוסף יעקב משה רחל שרה
    अनिल अनीता कुमार पूजा प्रिया राजेश राम राहुल सीता सुनीता
""")
)
# Family names come first in Chinese, Korean and Japanese, and most people have one of a few.
EASTERN = tuple(
    _split_words("""
    佐藤 鈴木 高橋 田中 伊藤 渡辺 山本 中村 小林 加藤 吉田 山田 佐々木 山口 松本 井上 木村 林 斎藤 清水
    王 李 张 張 刘 劉 陈 陳 杨 楊 黄 黃 赵 趙 吴 吳 周 徐 孙 孫 马 馬 朱 胡 郭 何 高 罗 羅 郑 鄭
    김 이 박 최 정 강 조 윤 장 임 한 오 서 신 권 황 안 송 류 홍
""")
)
SEPARATORS = re.compile(r"[\s,]+")
INNER = str.maketrans("", "", "'’‘`´-‐.·・")


def names_share(texts: Sequence[str], counts: Sequence[int], *, rows: int) -> PatternShare | None:
    """Return the share of distinct texts that look like personal names; None if the evidence is weak.

    `counts` are the rows of each text, and `rows` those of the column.
    """
    looking = [index for index, text in enumerate(texts) if is_name_like(text)]
    share = len(looking) / len(texts) if texts else 0.0
    if len(looking) < FEWEST or share < MIN_SHARE_FOR_ROLE:
        return None
    names = [texts[index] for index in looking]
    weights = [counts[index] for index in looking]
    frequent = sum(w for text, w in zip(names, weights, strict=True) if has_frequent_name(text)) / sum(weights)
    # Several words are a sign of their own; one word is a name only where names that many people have are among them.
    several = [text for text in names if len(_words(text)) > 1 and not _is_eastern(text)]
    whole = len(several) >= MIN_SHARE_FOR_ROLE * len(names)
    alone = len(texts) >= max(NEARLY_UNIQUE * rows, ENOUGH_ROWS)
    if frequent >= FREQUENT_SHARE:
        meaning = f"names of people, {percent(frequent)} of them frequent ones"
    elif whole and (alone or _recombine(several)):
        meaning = "texts like names of people"
    else:
        return None
    return PatternShare("name", meaning, Role.IDENTIFIER, share, len(texts), certain=False, safe_harbor="A")


def is_name_like(text: str) -> bool:
    """Return whether a text may be the name of a person: a few words of letters that begin with a capital.

    >>> [is_name_like(text) for text in ("Müller, Anna", "K. van der Berg", "田中太郎", "craft worker", "Ward 7")]
    [True, True, True, False, False]
    """
    words = _words(text)
    if not 1 <= len(words) <= 5:
        return False
    if all(map(_is_eastern, words)):
        return SHORTEST_EAST <= sum(map(len, words)) <= LONGEST_EAST
    own = [word for word in words if word.lower() not in PARTICLES]
    return bool(own) and max(map(len, own)) > 1 and all(map(_is_capitalised, own))


def has_frequent_name(text: str) -> bool:
    """Return whether a part of a name is one that many people have."""
    if _is_eastern(text.replace(" ", "")):
        return text.startswith(EASTERN)
    return any(part in FREQUENT for word in _words(text) for part in (word.lower(), *word.lower().split("-")))


def _words(text: str) -> list[str]:
    return [word for word in SEPARATORS.split(unicodedata.normalize("NFC", text)) if word]


def _is_eastern(text: str) -> bool:
    """Return whether all letters are Han or Hangul."""
    return bool(text) and all(
        "\u4e00" <= mark <= "\u9fff" or "\uac00" <= mark <= "\ud7a3" or mark == "々" for mark in text
    )


def _is_capitalised(word: str) -> bool:
    """Return whether a word is all letters and begins with a capital, where its script has any."""
    letters = word.translate(INNER)
    marks = [mark for mark in letters if not unicodedata.category(mark).startswith("M")]
    if not marks or not all(mark.isalpha() for mark in marks):
        return False
    return marks[0].isupper() or marks[0].istitle() or unicodedata.category(marks[0]) == "Lo"


def _recombine(texts: Sequence[str]) -> bool:
    """Return whether first words meet several last words and the other way round, as those of names do."""
    ends = {(words[0], words[-1]) for words in map(_words, texts)}
    first, last = {one for one, _ in ends}, {other for _, other in ends}
    return min(len(first), len(last)) >= FEWEST // 2 and len(ends) >= RECOMBINED * max(len(first), len(last))
