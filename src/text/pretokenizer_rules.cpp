#include "text/pretokenizer.h"

namespace skipstone::text {
namespace {

// Names are those of llama.cpp's llama-vocab.cpp (version 0.7.0) and of its converter. Patterns are those of the tokenizer.json files
// published with the models, which the comments name; where a rule was rewritten to take linear time, `written` has the original.

using Strings = std::vector<std::string>;

// GPT-2, released encoder (Radford et al. 2019).
const std::string gpt2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// The parts of the patterns that came after cl100k_base (OpenAI 2022).
const std::string contraction = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const std::string plain_word = R"([^\r\n\p{L}\p{N}]?\p{L}+)";
const std::string symbol_run = R"( ?[^\s\p{L}\p{N}]+[\r\n]*)";
const std::string spaces = R"(\s*[\r\n]+|\s+(?!\S)|\s+)";

std::string contraction_word_number(const std::string& word, const std::string& number) {
  return contraction + "|" + word + "|" + number + "|" + symbol_run + "|" + spaces;
}

// Llama 3 (Meta 2024); Qwen2 has the same with digits one by one (Qwen team 2024); Qwen 3.5 keeps marks with their letters.
const std::string llama3 = contraction_word_number(plain_word, R"(\p{N}{1,3})");
const std::string qwen2 = contraction_word_number(plain_word, R"(\p{N})");
const std::string qwen35 = contraction + R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|)" + spaces;

// o200k_base (OpenAI 2024): words begin where lower case is followed by upper case. Tekken (Mistral 2024) has no contractions.
std::string cased_words(const std::string& upper, const std::string& lower, const std::string& tail) {
  const std::string lead = R"([^\r\n\p{L}\p{N}]?)";
  return lead + upper + "*" + lower + "+" + tail + "|" + lead + upper + "+" + lower + "*" + tail + "|";
}
const std::string upper_letters = R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])";
const std::string lower_letters = R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])";
const std::string symbols_or_slashes = R"( ?[^\s\p{L}\p{N}]+[\r\n/]*|)";
const std::string o200k = cased_words(upper_letters, lower_letters, contraction + "?") + R"(\p{N}{1,3}|)" + symbols_or_slashes + spaces;
const std::string tekken = cased_words(upper_letters, lower_letters, "") + R"(\p{N}|)" + symbols_or_slashes + spaces;

// Kimi K2 (Moonshot 2025): o200k_base with Han characters apart from other letters. Its classes are intersections, which PCRE2 10.42
// lacks, so each is written as what it leaves out. Han by ranges (Unicode 15.1, Scripts.txt): \p{Han} changed its meaning in PCRE2 10.40.
const std::string han_script =
    R"(\x{2E80}-\x{2E99}\x{2E9B}-\x{2EF3}\x{2F00}-\x{2FD5}\x{3005}\x{3007}\x{3021}-\x{3029}\x{3038}-\x{303B}\x{3400}-\x{4DBF})"
    R"(\x{4E00}-\x{9FFF}\x{F900}-\x{FA6D}\x{FA70}-\x{FAD9}\x{16FE2}\x{16FE3}\x{16FF0}\x{16FF1}\x{20000}-\x{2A6DF}\x{2A700}-\x{2B739})"
    R"(\x{2B740}-\x{2B81D}\x{2B820}-\x{2CEA1}\x{2CEB0}-\x{2EBE0}\x{2EBF0}-\x{2EE5D}\x{2F800}-\x{2FA1D}\x{30000}-\x{3134A}\x{31350}-\x{323AF})";
const std::string upper_not_han = R"([^\p{Ll}\p{N}\p{P}\p{S}\p{Z}\p{C})" + han_script + "]";
const std::string lower_not_han = R"([^\p{Lu}\p{Lt}\p{N}\p{P}\p{S}\p{Z}\p{C})" + han_script + "]";
const std::string kimi_k2 =
    "[" + han_script + "]+|" + cased_words(upper_not_han, lower_not_han, contraction + "?") + R"(\p{N}{1,3}|)" + symbol_run + "|" + spaces;
const std::string kimi_k2_written =
    R"([\p{Han}]+|)" +
    cased_words(R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]])", R"([\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]])", contraction + "?") +
    R"(\p{N}{1,3}|)" + symbol_run + "|" + spaces;

// DeepSeek (2023 to 2024). The first is L&, the cased letters, of an older Unicode, as its file lists them.
const std::string deepseek_letters =
    R"(\s?[A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293}\x{295}-\x{2AF}\x{370}-\x{373}\x{376}\x{377})"
    R"(\x{37B}-\x{37D}\x{37F}\x{386}\x{388}-\x{38A}\x{38C}\x{38E}-\x{3A1}\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F}\x{531}-\x{556})"
    R"(\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77})"
    R"(\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D})"
    R"(\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB})"
    R"(\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107}\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124}\x{2126})"
    R"(\x{2128}\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E}\x{2183}\x{2184}\x{2C00}-\x{2C7B})"
    R"(\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D}\x{A680}-\x{A69B}\x{A722}-\x{A76F}\x{A771}-\x{A787})"
    R"(\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}\x{10400}-\x{1044F})"
    R"(\x{104B0}-\x{104D3}\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF}\x{1E900}-\x{1E943}]+)";
const std::string deepseek_punctuation = R"(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)";
const std::string chinese_and_korean = R"([\x{4E00}-\x{9FA5}\x{800}-\x{4E00}\x{AC00}-\x{D7FF}]+)";
const std::string han_and_kana = R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)";
const std::string ascii_mark_and_word = R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)";
const std::string deepseek_v3 = ascii_mark_and_word + R"(| ?[\p{P}\p{S}]+[\r\n]*|)" + spaces;
const std::string spark = ascii_mark_and_word + R"(| ?[\p{P}\p{S}]+|[\r\n]|\s+(?!\S)|\s+)";

// Youtu (Tencent 2025) and AFMoE (Arcee 2025) keep runs of Asian scripts apart.
const std::string youtu_scripts =
    R"([\x{AC00}-\x{D7A3}\x{3131}-\x{318E}]+|)"
    R"([\x{FF01}\x{2026}\x{201C}\x{201D}\x{2018}\x{2019}\x{2014}\x{FF1A}\x{FF1B}\x{FF0C}\x{3001}-\x{303F}\x{FE30}-\x{FE4F}]+|)"
    R"([\x{3105}-\x{312F}]+|[\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)";
const std::string youtu_words = cased_words(upper_letters, lower_letters, contraction + "?") + R"(\p{N}|)" + symbols_or_slashes + spaces;
const std::string afmoe_scripts =
    R"((?:[\x{4E00}-\x{9FFF}\x{3040}-\x{309F}\x{30A0}-\x{30FF}\x{3400}-\x{4DBF}\x{F900}-\x{FAFF}\x{FF65}-\x{FF9F}\x{2F00}-\x{2FDF}]+|)"
    R"([\x{E00}-\x{E7F}]+|[\x{E80}-\x{EFF}]+|[\x{1780}-\x{17FF}]+|[\x{1000}-\x{109F}\x{AA60}-\x{AA7F}\x{A9E0}-\x{A9FF}]+|)"
    R"([\x{AC00}-\x{D7AF}\x{1100}-\x{11FF}]+))";
// Its file says "in threes from the right" in three steps, the first of which keeps the second from looking far ahead.
const Strings afmoe_written = {R"(\p{Nd}{1,510}(?=(?>\p{Nd}{510})*(?:\P{Nd}|$))|\G\p{Nd}{510})", R"(\A\p{Nd}{1,2}(?=\p{Nd}{3}+\z))",
                               R"(\A\p{Nd}{3}|\G\p{Nd}{3})", afmoe_scripts, deepseek_v3};

// Bloom (BigScience 2022) cuts at spaces and at the full stops and commas of many scripts.
const std::string bloom = R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{FF0C}\x{3001}\x{964}\x{6D4}\x{60C})]+)";
const std::string bloom_written = R"( ?[^(\s|[.,!?\x{2026}\x{3002}\x{FF0C}\x{3001}\x{964}\x{6D4}\x{60C}])]+)";

const std::string punctuation = R"([\p{P}$+<=>^~|`]+)";
const std::string three_digits = "[0-9][0-9][0-9]";

// Jais 2 (Inception 2025): Llama 3 with runs of spaces in powers of two. As published, each part of a run searches the remaining run for
// a line break; here runs are cut in a second step. \G continues only where the previous part ended.
const std::string space_parts = R"((?:\A(?=[^\S\r\n]+\z)|(?<=\s)\G)(?:\s{512}|\s{256}|\s{128}|\s{64}|\s{32}|\s{16}|\s{8}|\s{4}|\s{1,2}))";
const std::string jais2_written =
    contraction + "|" + plain_word + R"(|\p{N}{1,3}|)" + symbol_run +
    R"(|\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|)"
    R"(\s{1,2}(?!\S)|\s{1})";

// A run of digits that no letter, mark, number or underscore follows (\b of Oniguruma). After a failure, the lookbehind prevents another
// attempt inside the run.
const std::string digits_alone = R"((?<!\d)\d++(?![\p{L}\p{M}\p{N}\p{Pc}]))";

// EXAONE-MoE (LG 2025): words continue across single spaces. The possessive quantifiers change no match: backtracking never helps here.
const std::string exaone_words = R"([^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*+(?: \p{L}\p{M}*+)*+)++)";
const std::string exaone_words_written = R"([^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+)";
const std::string exaone_rest = R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)";

std::vector<PreTokenizerRule> first_half() {
  return {
      // The default for files without a pre-tokenizer's name.
      {{"default"}, {{R"([\p{P}$+<=>^~|]+)"}, {gpt2}, {R"(\p{N}+)"}, {three_digits}}},
      {{"gpt-2",           "gpt2",    "phi-2",      "mpt",        "olmo",       "jais",        "trillion",
        "granite-docling", "exaone4", "gigachat",   "a.x-4.0",    "mellum",     "modern-bert", "roberta-bpe",
        "jina-es",         "jina-de", "jina-v1-en", "jina-v2-es", "jina-v2-de", "jina-v2-code"},
       {{gpt2}}},
      {{"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "jina-v5-nano"}, {{llama3}}, true, true},
      {{"smaug-bpe", "dbrx", "glm4", "chatglm-bpe"}, {{llama3}}},
      {{"qwen2", "deepseek-r1-qwen", "stablelm2", "hunyuan", "solar-open", "kormo", "f2llmv2", "megrez", "grok-2"}, {{qwen2}}},
      {{"qwen35"}, {{qwen35}}},
      // \s+$ as in its file, without retrying at each space of a run.
      {{"deepseek-llm"},
       {{R"([\r\n])"}, {deepseek_letters}, {deepseek_punctuation}, {R"((?<!\s)\s++\z)"}, {chinese_and_korean}, {R"(\p{N}+)"}},
       false,
       false,
       {Strings{R"([\r\n])", deepseek_letters, deepseek_punctuation, R"(\s+$)", chinese_and_korean, R"(\p{N}+)"}}},
      {{"deepseek-coder"}, {{R"([\r\n])"}, {R"(\s?\p{L}+)"}, {R"(\s?\p{P}+)"}, {chinese_and_korean}, {R"(\p{N})"}}},
      {{"deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"}, {{R"(\p{N}{1,3})"}, {han_and_kana}, {deepseek_v3}}},
      {{"spark2_5"}, {{R"(\p{N}{1,3})"}, {han_and_kana}, {spark}, {R"(\p{N})"}}},
      {{"falcon"},
       {{punctuation}, {gpt2}, {three_digits}},
       false,
       false,
       {Strings{punctuation, gpt2, R"(\p{N}+)", three_digits}},
       "its last steps look at bytes in disguise and cut some letters apart (Cyrillic U+043C), which the GGUF rule of that name does not"},
      {{"starcoder", "refact", "command-r", "smollm", "codeshell", "exaone", "minerva-7b", "mellum2"}, {{R"(\p{N})"}, {gpt2}}},
      {{"bloom", "poro-chat", "gpt3-finnish"}, {{bloom}}, false, false, {Strings{bloom}, Strings{bloom_written}}},
      {{"viking"}, {{bloom}, {R"(\p{N})"}}, false, false, {Strings{bloom, R"(\p{N})"}, Strings{bloom_written, R"(\p{N})"}}},
  };
}

std::vector<PreTokenizerRule> second_half() {
  return {
      {{"tekken"}, {{tekken}}, true, true},
      {{"gpt-4o", "llama4", "minimax-m2", "kanana2", "talkie"}, {{o200k}}},
      {{"granite-embed-multi-97m"}, {{o200k}}, true},
      // Meta 2024 (arXiv:2405.09818): tokens of images and of their borders, indentation, then GPT-2's rule.
      {{"chameleon"},
       {{"<sentinel:[0-9]+>"},
        {"(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z"},
        {R"([\t\n]|    |  )"},
        {R"(\p{N})"},
        {R"([\p{P}!-/:-@\[-`{-~])"},
        {gpt2}},
       false,
       true,
       {Strings{"<sentinel:[0-9]+>", "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z", R"(([\t\n]|    |  ))", R"(\p{N})", R"([\p{P}!-/:-@\[-`{-~])",
                gpt2}}},
      {{"tiny_aya", "cohere2moe"},
       {{digits_alone, CutMode::threes}, {o200k}},
       false,
       false,
       {Strings{R"(\d{1,3}(?=(?:\d{3})*\b))", o200k}}},
      {{"kimi-k2"}, {{kimi_k2}}, false, false, {Strings{kimi_k2_written}}},
      // Liu et al. 2025 (arXiv:2503.13423): no cut at spaces, digits in threes from the right.
      {{"superbpe"}, {{R"(\p{N}+)"}, {R"(\d{3,})", CutMode::threes_inside}}, false, false, {Strings{R"(\p{N}+)", R"((?=(\d{3})+(?!\d)))"}}},
      {{"bailingmoe", "bailingmoe2", "llada-moe"},
       {{contraction + R"(|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)"}}},
      {{"seed-coder"}, {{contraction + "|" + plain_word + R"(|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|)" + spaces}}},
      {{"ufakzeka"}, {{plain_word + R"(|\p{N}|)" + symbol_run + "|" + spaces}}},
      {{"youtu"}, {{youtu_scripts}, {youtu_words}}, true},
      {{"afmoe"}, {{R"(\p{Nd}+)", CutMode::threes}, {afmoe_scripts}, {deepseek_v3}}, false, false, {afmoe_written}},
      {{"laguna"}, {{R"([^\n]+|[\n]+)"}, {qwen2}}},
      {{"exaone-moe"},
       {{contraction + "|" + exaone_words + exaone_rest}},
       false,
       false,
       {Strings{contraction + "|" + exaone_words_written + exaone_rest}}},
      {{"minicpm5"}, {{R"(\p{N}{1,3})"}, {contraction_word_number(plain_word, R"(\p{N}+)")}}, true},
      {{"jais-2"}, {{llama3}, {space_parts}}, false, false, {Strings{jais2_written}}},
      {{"k2-horizon"},
       {{contraction_word_number(R"([^\r\n\p{L}\p{N}]?[\p{L}\p{M}\x{200C}\x{200D}]+)", R"(\p{N}{1,3})")}},
       false,
       false,
       {Strings{contraction_word_number(R"([^\r\n\p{L}\p{N}]?(?:\p{L}|\p{M}|\u200C|\u200D)+)", R"(\p{N}{1,3})")}}},
  };
}

}  // namespace

const std::vector<PreTokenizerRule>& pretokenizer_rules() {
  static const std::vector<PreTokenizerRule> table = [] {
    std::vector<PreTokenizerRule> all = first_half();
    for (PreTokenizerRule& rule : second_half()) all.push_back(std::move(rule));
    return all;
  }();
  return table;
}

}  // namespace skipstone::text
