// Vocabularies come from files and from callers; both are checked once, before anything indexes by a token.
#pragma once

#include "base/status.h"
#include "text/tokenizer.h"

namespace skipstone::text {

/// Throws `code` for lengths that do not fit together and ids out of range, unsupported for a model this build does not know.
void check_vocabulary(const Vocabulary& vocabulary, Code code);

}  // namespace skipstone::text
