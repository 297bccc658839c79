#include "json/parse_json.h"

#include <set>
#include <vector>

#include "base/escape.h"
#include "base/status.h"
#include "json/json.h"

namespace skipstone {
namespace {

constexpr int deepest =
    512;  // a level of a JSON schema is two or three of these; a printer's frame is below a KiB, a thread's stack 512 or more

/// Builds a document and checks the nesting and every key. nlohmann's parser with a callback would search a list for values to leave out
/// after each object of it, which takes quadratic time.
template <typename Document>
class CheckedDocument : public nlohmann::detail::json_sax_dom_parser<Document> {
  using Base = nlohmann::detail::json_sax_dom_parser<Document>;

 public:
  CheckedDocument(Document& document, const std::string& where) : Base(document), where_(where) {}

  bool start_object(std::size_t size) {
    open();
    keys_.emplace_back();
    return Base::start_object(size);
  }
  bool key(std::string& name) {
    if (!keys_.back().insert(name).second)
      fail(Code::bad_file, "{}: the key {} appears twice; the file is damaged", where_, shown(SortedJson(name)));
    return Base::key(name);
  }
  bool end_object() {
    keys_.pop_back();
    --depth_;
    return Base::end_object();
  }
  bool start_array(std::size_t size) {
    open();
    return Base::start_array(size);
  }
  bool end_array() {
    --depth_;
    return Base::end_array();
  }

 private:
  void open() {
    if (++depth_ > deepest) fail(Code::bad_file, "{}: its JSON nests deeper than {} levels; the file is damaged", where_, deepest);
  }

  const std::string& where_;
  int depth_ = 0;
  std::vector<std::set<std::string>> keys_;  // of each open object; not a hash table, which chosen keys make slow
};

}  // namespace

template <typename Document>
Document parse_json(std::string_view text, const std::string& where) {
  try {
    Document document;
    CheckedDocument<Document> checked(document, where);
    Document::sax_parse(text, &checked);
    return document;
  } catch (const typename Document::parse_error& error) {
    fail(Code::bad_file, "{}: is not valid JSON (around byte {}); the file is damaged", where, error.byte);
  } catch (const typename Document::exception&) {
    fail(Code::bad_file, "{}: holds JSON that cannot be read, such as a number out of range; the file is damaged", where);
  }
}

template SortedJson parse_json(std::string_view text, const std::string& where);
template Json parse_json(std::string_view text, const std::string& where);

SortedJson parse_json_object(std::string_view text, const std::string& where) {
  SortedJson document = parse_json<SortedJson>(text, where);
  if (!document.is_object()) fail(Code::bad_file, "{}: holds a JSON {} where an object was expected", where, document.type_name());
  return document;
}

std::string shown(const SortedJson& value) {
  constexpr std::size_t most = 60;
  std::string text = value.dump(-1, ' ', true);  // ASCII, so that it can be truncated anywhere
  if (text.size() > most) text = text.substr(0, most) + "...";
  return escaped(text);
}

}  // namespace skipstone
