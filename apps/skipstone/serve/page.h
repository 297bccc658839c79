// The chat page: the files of the folder page, joined into one document.
#pragma once

#include <string_view>

namespace cli::serve {

std::string_view chat_page();

}  // namespace cli::serve
