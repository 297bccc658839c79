// A checkpoint's tokenizer: as its own file describes it (tokenizer.json, the format of Hugging Face's tokenizers library,
// https://huggingface.co/docs/tokenizers; tokenizer.model is in sentencepiece_model.h), with the settings in the files next to it, and as
// GGUF metadata.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "convert/token_list.h"
#include "gguf/writer.h"
#include "json/json_fwd.h"
#include "model/architecture.h"

namespace skipstone::convert {

/// A tokenizer as its own file describes it, before the settings in the files next to it.
struct SourceTokenizer {
  /// `path`: the tokenizer's file; `rows`: of the model's embedding.
  SourceTokenizer(const std::string& path, std::uint32_t rows) : tokens(path, rows) {}

  std::string model;  ///< tokenizer.ggml.model: "llama" (SentencePiece BPE) or "gpt2" (byte-level BPE)
  std::string pre;    ///< tokenizer.ggml.pre
  TokenList tokens;
  std::vector<std::string> merges;  ///< "gpt2": "left right", by rank

  text::Token bos = -1, eos = -1, unknown = -1, padding = -1;
  std::optional<bool> add_bos, add_eos;             ///< nothing where the file does not say
  std::optional<std::string> text_begin, text_end;  ///< the tokens it puts around a text, where it names them
  bool add_space_prefix = false;
  bool remove_extra_whitespaces = false;
};

struct MergePair {
  std::string left, right;
};

/// Byte pair encoding over characters, the first merge of the list first, as tokenizer.json means it. Immutable once made.
class MergeOrder {
 public:
  /// Both must outlive it; all tokens of `merges` are in `tokens`. Of equal pairs the first counts.
  MergeOrder(const std::vector<MergePair>& merges, const TokenList& tokens);

  /// How merging a text ends. Two symbols that are neighbours in any text, and cover exactly `text`, are the two of `cut`: the surrounding
  /// text had no influence on them.
  struct Way {
    static constexpr std::size_t none = static_cast<std::size_t>(-1);
    std::size_t cut = 0;      ///< bytes of the left one when two symbols remained; 0: there never were two
    std::size_t rank = none;  ///< of the merge that joined these two; none: they were not joined
  };
  Way way(std::string_view text) const;

 private:
  const TokenList& tokens_;
  std::unordered_map<std::uint64_t, std::size_t> ranks_;  // by the two tokens
  const std::vector<MergePair>& merges_;
};

/// The name of GGUF's pre-tokenizer (tokenizer.ggml.pre) that a tokenizer.json describes.
/// `pre_tokenizer`: that member of tokenizer.json; `ignore_merges`: its model's. Recognised by its effect, step by step, against the
/// table of text/pretokenizer.h; never guessed. Of names that mean the same, `preferred` if it is one of
/// them, otherwise the table's first. `merging_gives_all`: whether merging gives every token, so that it does not matter whether
/// words that are tokens are taken whole. Throws unsupported with the steps for one that is not known, or not byte-level; bad_file for
/// an invalid one.
std::string pretokenizer_name(const SortedJson& pre_tokenizer, bool ignore_merges, const std::function<bool()>& merging_gives_all,
                              std::string_view preferred, const std::string& path);

/// Whether `file`, a tokenizer.json, is converted SentencePiece BPE, which has U+2581 for spaces, merges in place of scores and bytes for
/// missing characters: BPE with byte fallback, and no step that cuts texts or turns them into bytes before
/// merging.
bool is_converted_sentencepiece(const SortedJson& file);

/// Makes `source`, whose tokens are the vocabulary's, a "llama" tokenizer: types, the space prefix, and scores that merge in the order of
/// `merges` (all of whose tokens are in the vocabulary). Throws unsupported where no scores can do that.
void read_converted_sentencepiece(const SortedJson& file, const std::vector<MergePair>& merges, SourceTokenizer& source);

/// Reads byte-level BPE (GPT-2, Llama 3, Qwen2, ...) and SentencePiece BPE that was converted to a tokenizer.json (Llama 2 without its
/// tokenizer.model). `rows` are those of the model's embedding, `facts` those of its family. `pre`: the pre-tokenizer, where the
/// caller knows better than the file; "": the file's. Throws bad_file, and unsupported for everything else, naming it.
SourceTokenizer read_tokenizer_json(const std::string& path, std::uint32_t rows, const model::TokenizerFacts& facts,
                                    const std::string& pre);

/// Adds the tokens of added_tokens.json and of tokenizer_config.json's added_tokens_decoder, and into rows that are free then those of a
/// tokenizer.json that `tokens` were not read from.
void add_extra_tokens(const std::string& folder, const SortedJson& tokenizer_config, TokenList& tokens);

/// Ids of BOS, EOS, EOT, unknown and padding: by name from tokenizer_config.json or special_tokens_map.json, else the ids of config.json or
/// generation_config.json, else those the tokenizer has itself. `eot` and `eom` are named, or are ids of a list of EOS that no reader would
/// recognise by its text; `more_ends` are those of the list that no key is left for.
struct SpecialTokens {
  text::Token bos = -1, eos = -1, eot = -1, eom = -1, unknown = -1, padding = -1;
  std::vector<text::Token> more_ends;
};
SpecialTokens find_special_tokens(const std::string& folder, const SortedJson& tokenizer_config, const model::TokenizerFacts& facts,
                                  SourceTokenizer& source);

/// Reads the tokenizer of a Hugging Face folder and sets GGUF's tokenizer.ggml.* keys, and tokenizer.chat_template* for its chat templates.
/// tokenizer.model (SentencePiece BPE) is preferred over tokenizer.json (byte-level BPE, or converted SentencePiece); settings come from
/// tokenizer_config.json, special_tokens_map.json, added_tokens.json, config.json and generation_config.json where those exist.
/// `vocabulary`: rows of the model's embedding; a smaller vocabulary is filled up with unused tokens "[PAD<id>]", a larger one is refused,
/// but for added tokens past the last row, which are left out with a warning.
/// Throws not_found where the folder has neither file, bad_file, unsupported (saying what GGUF or this build cannot express).
/// `facts`: the known facts about the model's family.
/// `pre`: tokenizer.ggml.pre for byte-level BPE, instead of the name recognised from tokenizer.json's steps; invalid_argument where this
/// build does not know it, or the tokenizer is SentencePiece. "": as recognised.
void write_tokenizer(const std::string& folder, std::uint32_t vocabulary, gguf::Writer& writer, const model::TokenizerFacts& facts = {},
                     const std::string& pre = "");

}  // namespace skipstone::convert
