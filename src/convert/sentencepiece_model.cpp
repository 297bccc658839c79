#include "convert/sentencepiece_model.h"

#include <algorithm>
#include <cmath>
#include <protozero/pbf_reader.hpp>

#include "base/log.h"
#include "base/status.h"
#include "convert/json_file.h"

namespace skipstone::convert {
namespace {

// protozero checks bounds but trusts the caller to ask for the type that a field has; a field of another type than the .proto file says is
// therefore skipped, as protobuf's own parser does (it keeps it as an unknown field).
using protozero::pbf_reader;
constexpr auto wire_varint = protozero::pbf_wire_type::varint;
constexpr auto wire_bytes = protozero::pbf_wire_type::length_delimited;
constexpr auto wire_float = protozero::pbf_wire_type::fixed32;

constexpr std::uint32_t field(std::uint32_t tag, protozero::pbf_wire_type type) { return protozero::tag_and_type(tag, type); }

SentencePieceModel::Piece parse_piece(pbf_reader message) {
  SentencePieceModel::Piece piece;
  while (message.next()) {
    switch (message.tag_and_type()) {
      case field(1, wire_bytes):
        piece.text = message.get_string();
        break;
      case field(2, wire_float):
        piece.score = message.get_float();
        break;
      case field(3, wire_varint):
        piece.type = message.get_int32();
        break;
      default:
        message.skip();
    }
  }
  return piece;
}

void parse_trainer_spec(pbf_reader message, SentencePieceModel& model) {
  while (message.next()) {
    switch (message.tag_and_type()) {
      case field(3, wire_varint):
        model.model_type = message.get_int32();
        break;
      case field(24, wire_varint):
        model.treat_whitespace_as_suffix = message.get_bool();
        break;
      case field(40, wire_varint):
        model.unknown = message.get_int32();
        break;
      case field(41, wire_varint):
        model.bos = message.get_int32();
        break;
      case field(42, wire_varint):
        model.eos = message.get_int32();
        break;
      case field(43, wire_varint):
        model.padding = message.get_int32();
        break;
      default:
        message.skip();
    }
  }
}

void parse_normalizer_spec(pbf_reader message, SentencePieceModel& model) {
  while (message.next()) {
    switch (message.tag_and_type()) {
      case field(1, wire_bytes):
        model.normalizer = message.get_string();
        break;
      case field(2, wire_bytes):
        model.has_character_map = message.get_view().size() > 0;
        break;
      case field(3, wire_varint):
        model.add_dummy_prefix = message.get_bool();
        break;
      case field(4, wire_varint):
        model.remove_extra_whitespaces = message.get_bool();
        break;
      case field(5, wire_varint):
        model.escape_whitespaces = message.get_bool();
        break;
      default:
        message.skip();
    }
  }
}

void parse_model(pbf_reader message, SentencePieceModel& model) {
  while (message.next()) {
    switch (message.tag_and_type()) {
      case field(1, wire_bytes):
        model.pieces.push_back(parse_piece(message.get_message()));
        break;
      case field(2, wire_bytes):
        parse_trainer_spec(message.get_message(), model);
        break;
      case field(3, wire_bytes):
        parse_normalizer_spec(message.get_message(), model);
        break;
      default:
        message.skip();
    }
  }
}

void check_consistency(const SentencePieceModel& model, const std::string& path) {
  if (model.pieces.empty()) fail(Code::bad_file, "{}: is no SentencePiece model, or one without pieces", path);
  for (std::size_t id = 0; id < model.pieces.size(); ++id) {
    const SentencePieceModel::Piece& piece = model.pieces[id];
    if (piece.text.empty()) fail(Code::bad_file, "{}: piece {} is empty", path, id);
    if (!std::isfinite(piece.score)) fail(Code::bad_file, "{}: the score of piece {} ({}) is not finite", path, id, quote(piece.text));
    if (piece.type < 1 || piece.type > 6) {
      fail(Code::bad_file, "{}: piece {} ({}) has the type {}; types are 1 to 6", path, id, quote(piece.text), piece.type);
    }
  }
  const auto check_id = [&](const char* name, std::int32_t id) {
    if (id >= 0 && static_cast<std::size_t>(id) >= model.pieces.size()) {
      fail(Code::bad_file, "{}: the {} token is {}, but there are {} pieces", path, name, id, model.pieces.size());
    }
  };
  check_id("unknown", model.unknown);
  check_id("BOS", model.bos);
  check_id("EOS", model.eos);
  check_id("padding", model.padding);
}

}  // namespace

SentencePieceModel parse_sentencepiece_model(std::string_view bytes, const std::string& path) {
  SentencePieceModel model;
  try {
    parse_model(pbf_reader(bytes.data(), bytes.size()), model);
  } catch (const protozero::exception& error) {
    fail(Code::bad_file, "{}: is not a SentencePiece model, or a damaged one ({} after {} pieces); download it again", path, error.what(),
         model.pieces.size());
  }
  check_consistency(model, path);
  return model;
}

void check_sentencepiece_model(const SentencePieceModel& model, const std::string& path) {
  constexpr std::int32_t bpe_model = 2;
  if (model.model_type != bpe_model) {
    const char* const names[] = {"unigram", "BPE", "word", "character"};
    const bool known = model.model_type >= 1 && model.model_type <= 4;
    fail(Code::unsupported, "{}: is a SentencePiece {} model; only BPE models can be converted", path,
         known ? names[model.model_type - 1] : "(unknown type)");
  }
  if (model.treat_whitespace_as_suffix || !model.escape_whitespaces) {
    fail(Code::unsupported, "{}: {}; only models that write a space as U+2581 in front of a word can be converted", path,
         model.escape_whitespaces ? "puts spaces at the end of words" : "keeps spaces as they are");
  }
  // GGUF's "llama" tokenizer knows no normalisation. nmt_nfkc and nfkc leave nearly all ordinary text as it is; case folding and custom
  // rules do not.
  const bool nearly_identity = model.normalizer == "nmt_nfkc" || model.normalizer == "nfkc";
  if (model.has_character_map && !nearly_identity) {
    fail(Code::unsupported,
         "{}: normalises texts by the rule {}, which GGUF's llama tokenizer cannot; only identity, nfkc and nmt_nfkc work", path,
         quote(model.normalizer));
  }
  if (model.has_character_map) {
    log::warning(
        "{}: normalises texts ({}), which GGUF's llama tokenizer does not; texts with compatibility characters (ligatures, full-width "
        "letters) will be cut into other tokens.",
        path, model.normalizer);
  }
  if (model.remove_extra_whitespaces) {
    log::warning(
        "{}: drops repeated, leading and trailing spaces, which GGUF's llama tokenizer keeps; texts with those will be cut into other "
        "tokens.",
        path);
  }
}

SourceTokenizer read_sentencepiece_model(const std::string& path, std::uint32_t rows) {
  SentencePieceModel model = parse_sentencepiece_model(read_file(path), path);
  check_sentencepiece_model(model, path);
  SourceTokenizer source(path, rows);
  source.model = "llama";
  source.pre = "default";
  for (std::size_t id = 0; id < model.pieces.size(); ++id) {
    SentencePieceModel::Piece& piece = model.pieces[id];
    source.tokens.add(id, std::move(piece.text), static_cast<text::TokenType>(piece.type), piece.score);
  }
  source.unknown = std::max(model.unknown, -1);
  source.bos = std::max(model.bos, -1);
  source.eos = std::max(model.eos, -1);
  source.padding = std::max(model.padding, -1);
  // The default of LlamaTokenizer without an entry in tokenizer_config.json.
  source.add_bos = source.bos >= 0;
  source.add_eos = false;
  source.add_space_prefix = model.add_dummy_prefix;
  source.remove_extra_whitespaces = model.remove_extra_whitespaces;
  return source;
}

}  // namespace skipstone::convert
