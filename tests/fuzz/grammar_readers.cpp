// Grammars, schemas and regular expressions, and the texts that they allow.
#include <array>

#include "base/hash.h"
#include "base/status.h"
#include "fixtures/temporary_directory.h"
#include "fuzz/readers.h"
#include "grammar/notations.h"
#include "grammar/token_masks.h"

namespace skipstone::fuzz {
namespace {

using grammar::Automaton;
using grammar::Form;
using grammar::Syntax;

const std::array<std::string, 14> tokens = {"", "{", "}", "\"", "a", "\": ", "[1", ", ", "true", "-1", "\xC3", "\\u00", "0", " \n"};

/// Writes a text of the tokens that the masks allow: what no mask forbids must fit.
void write_text(Syntax syntax) {
  const auto automaton = Automaton::make(std::move(syntax));
  grammar::TokenMasks masks(automaton, std::make_shared<const grammar::TokenTrie>(tokens, std::vector<std::uint32_t>{0}));
  grammar::State state = automaton->start();
  std::uint64_t seed = 1;
  for (int step = 0; step < 40; ++step) {
    const std::uint32_t mask = masks.mask(state)->front();
    if (((mask & 1U) != 0) != state.accepts()) throw std::logic_error("the end token is not where the text may end");
    seed = split_mix(seed);
    std::uint32_t token = 0;
    for (std::uint32_t i = 1; i < tokens.size(); ++i) {
      const std::uint32_t candidate = 1 + static_cast<std::uint32_t>((seed + i) % (tokens.size() - 1));
      if ((mask >> candidate & 1U) != 0) token = candidate;
    }
    const std::string forced = state.forced_bytes(100);
    const std::string& next = forced.empty() ? tokens[token] : forced;
    if (next.empty()) return;
    if (!state.advance(next)) throw std::logic_error("what a mask allows does not fit");
  }
}

void read_gbnf(const std::string& folder) {
  Syntax syntax = grammar::parse_gbnf(fixtures::bytes_of(folder + "/grammar.gbnf"));
  const std::string written = grammar::to_gbnf(syntax);
  if (grammar::to_gbnf(grammar::parse_gbnf(written)) != written) throw std::logic_error("a grammar that is written is not read again");
  write_text(std::move(syntax));
}

void read_regex(const std::string& folder) { write_text(grammar::parse_regex(fixtures::bytes_of(folder + "/regex.txt"))); }

void read_schema(const std::string& folder) {
  const std::string text = fixtures::bytes_of(folder + "/schema.json");
  write_text(grammar::schema::parse_schema(text, Form::writing));
  write_text(grammar::schema::parse_schema(text, Form::any));
}

std::vector<std::string> gbnf_seeds() {
  return {"# lists\nroot ::= \"[\" ws (item (\",\" ws item)*)? \"]\"\nitem ::= \"-\"? [1-9] [0-9]{0,2} | \"0\" | root\nws ::= [ \\t\\n]*\n",
          "root ::= (a | b c)+ \"\\x41\\u00e9\\\"\"?\na ::= [^\"\\\\\\x7F-\\x9F] | .\nb ::= \"2\"{2,}\nc ::= (\"3\" a){0,2} \"4\"\n",
          "root ::= ((\"a\"??*{0,3} | \"\"{9}{99})+?{2} \"\"?{0,200000}{200000}){1,2} [z-~a-cb]\n"};
}

std::vector<std::string> regex_seeds() {
  return {"^(?:\\d{3}-)?[\\w.\\-]+@(a|b|[^c-e\\s]){2,4}$", "(?<year>[12]\\d{3})-(0?[1-9]|1[0-2])\\u00e9*?",
          "((((){200000}){200000}){0,200000}|(a|){3}(b*)*)+"};
}

std::vector<std::string> schema_seeds() {
  return {
      R"({"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": {"node": {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
  "value": {"type": "number", "minimum": -1.5, "exclusiveMaximum": 1e3, "multipleOf": 0.5}}, "required": ["value"], "additionalProperties": false}},
  "type": "object", "properties": {"list": {"$ref": "#/$defs/node"}, "tags": {"type": "array", "prefixItems": [{"const": "x"}], "items": {"type": "string", "minLength": 1, "maxLength": 9}, "maxItems": 5},
  "when": {"type": "string", "format": "date-time"}, "id": {"type": ["string", "integer"], "pattern": "^[a-f]{2,}$"}}, "required": ["list"], "patternProperties": {"^x-": {"type": "boolean"}},
  "additionalProperties": {"enum": [1, "a", null, {"b": []}]}, "propertyNames": {"maxLength": 12}, "minProperties": 1, "maxProperties": 8})",
      R"({"oneOf": [{"type": "object", "properties": {"kind": {"const": "a"}}, "required": ["kind"]}, {"type": "object", "properties": {"kind": {"const": "b"}, "n": {"type": "integer"}},
  "required": ["kind"], "dependentRequired": {"n": ["m"]}}, {"type": "array", "contains": {"type": "boolean"}}], "allOf": [true, {"description": "both"}]})"};
}

}  // namespace

std::span<const Reader> grammar_readers() {
  static const std::array readers{
      Reader{"gbnf", "grammar.gbnf", Kind::json, gbnf_seeds, nullptr, read_gbnf},  // it is no JSON, and so it is mutated byte by byte
      Reader{"regex", "regex.txt", Kind::json, regex_seeds, nullptr, read_regex},
      Reader{"schema", "schema.json", Kind::json, schema_seeds, nullptr, read_schema},
  };
  return readers;
}

}  // namespace skipstone::fuzz
