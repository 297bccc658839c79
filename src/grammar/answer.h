// A grammar's text as the answer of a model that may reason first.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "grammar/syntax.h"

namespace skipstone::grammar {

/// What surrounds the text of an answer, in the words of a family's chat template.
struct AnswerForm {
  struct Tags {
    std::string open, close;
  };

  std::vector<Tags> reasoning = {};  ///< alternatives; none: answers begin at once
  bool begun = false;                ///< the prompt has opened the reasoning, of the first alternative
  std::string header = {};           ///< of an answer without reasoning
  Tags content = {};                 ///< may be around the text; "": nothing is
  /// Of those above that consist of control tokens, at least in part: how they are written with these alone, as control_token_bytes() has
  /// each. Ordinary tokens then do not write them.
  std::map<std::string, std::string> spelled = {};

  /// All that is written out above.
  std::vector<std::string> texts() const;
};

/// The bytes of a control token that a grammar knows: no text has them, so it fits where it is named alone.
inline std::string control_token_bytes(const std::string& token) { return '\xFF' + token; }

/// The grammar of whole answers: reasoning, which ends at its first closing tag and may be left out where it has not begun, and a text of
/// `syntax`, which is finished, as is the result. Throws invalid_argument where the grammar becomes too large.
Syntax answer_syntax(Syntax syntax, const AnswerForm& form);

}  // namespace skipstone::grammar
