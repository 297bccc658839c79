// Shapes as expressions of a grammar.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "grammar/json_text.h"
#include "grammar/schema/shape.h"

namespace skipstone::grammar::schema {

/// Makes a rule for each set of schemas that some value has to fit.
class Compiler {
 public:
  Compiler(const Document& document, Syntax& syntax, Form form)
      : document_(document), syntax_(syntax), form_(form), shapes_(document, form), json_(syntax, form) {}

  /// The values that fit all of the schemas.
  ExprId value(Conjunction schemas, const std::string& name);
  /// Defines the rules that value() has promised.
  void define_rules();
  JsonText& json() { return json_; }

 private:
  /// The members of objects whose names no schema has and that have the same schemas.
  struct OtherMembers {
    TextAutomaton names;
    Conjunction schemas;
  };
  struct Pending {
    RuleId rule;
    Conjunction schemas;
  };

  ExprId shape(const Shape& shape, const std::string& name);
  ExprId constants(const Shape& shape);
  ExprId string(const Shape& shape);
  ExprId array(const Shape& shape, const std::string& name);
  ExprId array_with(const Shape& shape, const std::string& name);
  ExprId item(const Shape& shape, std::size_t index, const std::string& name);
  ExprId object(const Shape& shape, const std::string& name);
  ExprId object_in_order(const Shape& shape, const std::string& name);
  ExprId object_in_any_order(const Shape& shape, const std::string& name);
  std::vector<std::string> declared(const Shape& shape) const;
  std::vector<OtherMembers> other_members(const Shape& shape, const std::vector<std::string>& declared) const;
  bool writes_others(const Shape& shape, const std::vector<std::string>& declared, const OtherMembers& others) const;
  ExprId member(const Shape& shape, const std::string& key, const std::vector<ExprId>& after_name);
  ExprId other_member(const OtherMembers& others, const std::vector<ExprId>& after_name);

  friend class MembersInOrder;

  const Document& document_;
  Syntax& syntax_;
  Form form_;
  Shapes shapes_;
  JsonText json_;
  std::map<Conjunction, RuleId> rules_;
  std::vector<Pending> pending_;
};

}  // namespace skipstone::grammar::schema
