#!/usr/bin/env python3
"""Writes pretokenizer_cuts.json: how the originals of the pre-tokenizers cut some hard texts.

The patterns here are those of the models' tokenizer.json files, not Skipstone's. Hugging Face's tokenizers (0.23.1, which uses Oniguruma)
does the cutting; for Kimi K2, whose file is one of tiktoken, the module `regex` does. Run it where both are installed:
    python3 make_pretokenizer_cuts.py > pretokenizer_cuts.json
"""
import json
import random

import regex
from tokenizers import Regex, pre_tokenizers as pt

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
C = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
LLAMA3 = C + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
QWEN35 = C + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
TEKKEN = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|"
          r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|"
          r"\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
HAN_KANA = "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"
V3 = (r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|"""
      r"""\s*[\r\n]+|\s+(?!\S)|\s+""")
SPARK = V3.replace(r" ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+", r" ?[\p{P}\p{S}]+|[\r\n]")
CHINESE_KOREAN = "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"
BLOOM = " ?[^(\\s|[.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c])]+"
CODER = [r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", CHINESE_KOREAN, r"\p{N}"]
LLM_LETTERS = (r"\s?[A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293}\x{295}-\x{2AF}\x{370}-\x{373}"
               r"\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386}\x{388}-\x{38A}\x{38C}\x{38E}-\x{3A1}\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F}"
               r"\x{531}-\x{556}\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B}"
               r"\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}"
               r"\x{1F59}\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC}"
               r"\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107}\x{210A}-\x{2113}"
               r"\x{2115}\x{2119}-\x{211D}\x{2124}\x{2126}\x{2128}\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149}"
               r"\x{214E}\x{2183}\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D}\x{A680}-\x{A69B}"
               r"\x{A722}-\x{A76F}\x{A771}-\x{A787}\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A}"
               r"\x{FF41}-\x{FF5A}\x{10400}-\x{1044F}\x{104B0}-\x{104D3}\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}"
               r"\x{118A0}-\x{118DF}\x{1E900}-\x{1E943}]+")
LLM_PUNCTUATION = "\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+"
YOUTU = ("[\uac00-\ud7a3\u3131-\u318e]+|[\uff01\u2026\u201c\u201d\u2018\u2019\u2014\uff1a\uff1b\uff0c\u3001-\u303f\ufe30-\ufe4f]+|"
         "[\u3105-\u312f]+|[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+")
AFMOE = ("(?:[\u4e00-\u9fff\u3040-\u309f\u30a0-\u30ff\u3400-\u4dbf\uf900-\ufaff\uff65-\uff9f\u2f00-\u2fdf]+|[\u0e00-\u0e7f]+|[\u0e80-\u0eff]+|"
         "[\u1780-\u17ff]+|[\u1000-\u109f\uaa60-\uaa7f\ua9e0-\ua9ff]+|[\uac00-\ud7af\u1100-\u11ff]+)")
JAIS2 = LLAMA3.replace(r"\s+(?!\S)|\s+", "|".join(r"\s{%d}(?!\S)" % n for n in (512, 256, 128, 64, 32, 16, 8, 4))
                       + r"|\s{1,2}(?!\S)|\s{1}")


def digits(individual):
    return pt.Digits(individual_digits=individual)


RULES = {
    "default": [pt.Split(Regex(r"[\p{P}$+<=>^~|]+"), "isolated"), GPT2, digits(False), "[0-9][0-9][0-9]"],
    "gpt-2": [GPT2],
    "llama-bpe": [LLAMA3],
    "qwen2": [QWEN2],
    "qwen35": [QWEN35],
    "deepseek-llm": [r"[\r\n]", LLM_LETTERS, LLM_PUNCTUATION, r"\s+$", CHINESE_KOREAN, digits(False)],
    "deepseek-coder": CODER,
    "deepseek-v3": [r"\p{N}{1,3}", HAN_KANA, V3],
    "spark2_5": [r"\p{N}{1,3}", HAN_KANA, SPARK, r"\p{N}"],
    "falcon": [pt.Punctuation("contiguous"), GPT2, "[0-9][0-9][0-9]"],
    "starcoder": [digits(True), GPT2],
    "bloom": [BLOOM],
    "viking": [BLOOM, digits(True)],
    "tekken": [TEKKEN],
    "gpt-4o": [O200K],
    "chameleon": ["<sentinel:[0-9]+>", "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z", "([\\t\\n]|    |  )", digits(True), pt.Punctuation("isolated"),
                  GPT2],
    "tiny_aya": [r"\d{1,3}(?=(?:\d{3})*\b)", O200K],
    "afmoe": [r"\p{Nd}{1,510}(?=(?>\p{Nd}{510})*(?:\P{Nd}|$))|\G\p{Nd}{510}", r"\A\p{Nd}{1,2}(?=\p{Nd}{3}+\z)",
              r"\A\p{Nd}{3}|\G\p{Nd}{3}", AFMOE, V3],
    "superbpe": [r"\p{N}+", r"(?=(\d{3})+(?!\d))"],
    "bailingmoe": [r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"],
    "seed-coder": [C + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+"],
    "ufakzeka": [QWEN2[len(C) + 1:]],
    "youtu": [YOUTU, O200K.replace(r"\p{N}{1,3}", r"\p{N}")],
    "laguna": [r"[^\n]+|[\n]+", QWEN2],
    "exaone-moe": [C + r"|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+"],
    "minicpm5": [r"\p{N}{1,3}", LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}+")],
    "jais-2": [JAIS2],
    "k2-horizon": [LLAMA3.replace(r"\p{L}+", "(?:\\p{L}|\\p{M}|\u200c|\u200d)+", 1)],
}
KIMI_LETTER = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]%s[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]%s" + C + "?"
KIMI = regex.compile("(?V1)" + "|".join([r"[\p{Han}]+", KIMI_LETTER % ("*", "+"), KIMI_LETTER % ("+", "*"), r"\p{N}{1,3}",
                                         r" ?[^\s\p{L}\p{N}]+[\r\n]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"]))


def pieces_of(name, text):
    if name == "kimi-k2":
        return KIMI.findall(text) if not KIMI.groups else [m.group() for m in KIMI.finditer(text)]
    steps = [pt.Split(Regex(s), "isolated") if isinstance(s, str) else s for s in RULES[name]]
    return [text[a:b] for _, (a, b) in pt.Sequence(steps).pre_tokenize_str(text)]


TEXTS = [
    "Hello, world!", "I'm sure they've said it'll work: WE'RE, I'D, you'Ll, 'tis the dog's", "x='s' y = \"'re\"", "it\u2019s \u2018quoted\u2019",
    "'\u017f 'S \u212aelvin \u017fharp", "HTMLElement getElementById XMLHttpRequest iPhone15Pro snake_case_name CamelCASE",
    "1234567890 12 123 1234 12345", "3.14159e-10 0xFF 1,000,000.00 $42 50% #1", "a1b22c333d4444", "x123456y 1234567_ 12345-678901",
    "\u00b2\u00b3\u00b9 \u00bd \u2167\u2168 \u0663\u0664\u0665\u0666\u0667 \u0967\u0968\u0969\u096a \u2460\u2461 12\u00b2 \u00b212345",
    " leading", "trailing ", "  two  spaces   three    four     five", "a\tb\t\tc\t d \te", "tab\t\n newline \n\n two\n\n\n three",
    "\r\n\r\nwindows\r\n lines\r mac\r\r", "   \n   \n  x", "def f(x):\n    return x + 1\n\n\nclass A:\n\tpass\n", "if (a<=b && c!=d) { e->f(); } // ok?",
    "http://example.com/a/b?c=d&e=f#g /usr/lib//x/", "!!!???...;;;---___###@@@", "a...b!!c??\n!!\n\nd", "(a|b) [c] {d} <e> \"f\" `g` ~h^ $i+j=k",
    "\u4e2d\u6587\u5b57\u7b26\u548c English \u6df7\u5408123\u3002\u8fd9\u662f\uff0c\u6d4b\u8bd5\uff01", "\u65e5\u672c\u8a9e\u3067\u3059\u3002\u30ab\u30bf\u30ab\u30ca\uff76\uff85 \u3000\u5168\u89d2",
    "\ud55c\uad6d\uc5b4 \ubb38\uc7a5\uc785\ub2c8\ub2e4. \u3131\u3134 \u1112\u1161\u11ab", "\u3105\u3106\u3107 \u6ce8\u97f3 \u3400\u4dbf \uf900\ufa0e \u2e80\u2f00\u3005\u3007 \U00020000\U0002a6d6",
    "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35\u0e0a\u0e32\u0e27\u0e42\u0e25\u0e01 \u0ead\u0ea7 \u1780\u17b6 \u1019\u103c\u1014\u103a\u1019\u102c", "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e\u0964 \u0995\u09cd\u09b7 \u0ba4\u0bae\u0bbf\u0bb4\u0bcd",
    "\u0627\u0644\u0639\u0631\u0628\u064a\u0651\u0629\u060c \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645\u06d4 \u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd", "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440! \u0401\u041b\u041a\u0410 \u03b1\u03b2\u03b3 \u0391\u0392 \u01c5 \u01c8 \u02b0\u02b1 \u00aa\u00ba",
    "caf\u00e9 cafe\u0301 na\u00efve \u1e9e\u00df \u0130\u0131 \ufb01\ufb02 A\u030aB\u0308c", "\u0301\u0302 lone marks a\u0301\u0302\u0303 \u0301", "\u0645\u200d\u0646 \u200c \u200d x\u200cy \u200b \ufeff a\u00adb",
    "\U0001f600\U0001f680 \U0001f468\u200d\U0001f469\u200d\U0001f467 \u2764\ufe0f \U0001f1e9\U0001f1ea 1\ufe0f\u20e3", "nb\u00a0sp\u00a0\u00a0em\u2003\u2003x \u2028 \u2029 \u0085y \u3000\u3000z \u202f",
    "\x00\x01\x02 \x1b[0m \x7f\x80\x9f \ufffd \ue000\uf8ff \U0010ffff", "\u2026 \u2014 \u2013 \u00ab\u00bb \u201e\u201c \u00a7\u00b6 \u20ac\u00a3\u00a5 \u2211\u221a \u2190\u2192 \u00d7\u00f7",
    "<sentinel:12> <sentinel:> IMGIMGABZ IMGIMGABCDIZ <|im_end|></s>", "word " * 5 + "end", "a" * 40 + " " + "B" * 40 + "c" * 3, "A B C d e f G h", "a b  c   d", "\u0915\u094d a \u0915\u094d b", "x/y/ z\n/ w//\n\n",
    " " * 40 + "x", " " * 40 + "1", "\n" * 7 + "x", " \n" * 6 + "\t\t\tx", "x" + " " * 601, "x" + " " * 601 + "y", " " * 1023 + "7", "\t" * 33 + "!", "\u3000" * 19 + "a", " " * 8 + "\n" + " " * 9,
    "The price is 12345678.90 dollars, or 1234\u00a0567 \u20ac.\nIt's 'quoted', isn't IT?\n\n\u2014 Yes! \u00bfNo?\n",
]


def random_texts(seed, count):
    source = random.Random(seed)
    parts = ["a", "Z", "bc", "Qr", "\u00e9", "\u01c5", "\u02b0", "\u0416", "\u4e2d\u6587", "\u3042", "\uac00", "\u0e01", "\u0915", "\u0301", "\u093f", "0", "12", "345", "\u0663", "\u00b2", "\u2167",
             " ", "  ", "   ", "\n", "\r\n", "\t", "\u00a0", "\u3000", "'", "'s", "'LL", ".", "!", ",", "/", "-", "_", "$", "+", "(", "|", "\u3002", "\uff01", "\u2026", "\u2019", "\u20ac", "\U0001f680", "\u200d", "\x01"]
    return ["".join(source.choice(parts) for _ in range(source.randint(4, 24))) for _ in range(count)]


def main():
    texts = TEXTS + random_texts(20, 60)
    cuts = {}
    for name in sorted(list(RULES) + ["kimi-k2"]):
        cuts[name] = []
        for text in texts:
            pieces = pieces_of(name, text)
            assert "".join(pieces) == text, (name, text, pieces)
            cuts[name].append([len(p.encode()) for p in pieces])
    print("{\n\"made by\": \"make_pretokenizer_cuts.py\",\n\"texts\":", json.dumps(texts), ",\n\"bytes of pieces\": {")
    print(",\n".join(json.dumps(n) + ": " + json.dumps(c, separators=(",", ":")) for n, c in cuts.items()))
    print("}\n}")


main()
