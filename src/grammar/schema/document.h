// A JSON Schema document: where its parts are, and what its references mean.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "json/json.h"

namespace skipstone::grammar::schema {

/// A parsed schema; parts are named by their addresses. Immutable.
class Document {
 public:
  /// Throws invalid_argument for text that is no JSON or too long, and where two parts have the same $id or $anchor.
  explicit Document(std::string_view text);
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;

  const SortedJson& root() const { return root_; }
  /// The JSON pointer of a part, as a fragment: "#/properties/name".
  std::string pointer(const SortedJson& part) const;
  /// What `reference`, the value of a $ref of `schema`, refers to. Throws unsupported for other documents, and invalid_argument for what is
  /// not there.
  const SortedJson& resolve(const SortedJson& schema, const std::string& reference) const;
  /// The keys of an object in the order in which its author wrote them.
  const std::vector<std::string>& keys(const SortedJson& object) const { return keys_.at(&object); }

 private:
  struct Place {
    const SortedJson* parent = nullptr;
    std::string key;  ///< in the parent; the index for an array
  };

  void index(const SortedJson& part, std::string_view text);
  void index_identifiers(const SortedJson& schema, std::string base);
  void name(const std::string& uri, const SortedJson& schema);
  const std::string& base_of(const SortedJson& schema) const;

  SortedJson root_;
  std::map<const SortedJson*, Place> places_;
  std::map<const SortedJson*, std::vector<std::string>> keys_;
  std::map<const SortedJson*, std::string> bases_;      ///< of schemas, as far as they are known to be one
  std::map<std::string, const SortedJson*> resources_;  ///< by URI, with "#anchor" for anchors
};

}  // namespace skipstone::grammar::schema
