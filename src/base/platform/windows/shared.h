// What the files of this folder share: conversion between UTF-8, which the project uses, and UTF-16, which Windows uses; the event of
// Ctrl-C.
#pragma once

#include <string>
#include <string_view>

namespace skipstone::platform {

/// Invalid UTF-8 becomes U+FFFD.
std::wstring utf16(std::string_view text);
/// Halves of surrogate pairs become U+FFFD.
std::string utf8(std::wstring_view text);

/// The event that tells a thread waiting for input of Ctrl-C: console.cpp sets it, reading in files.cpp takes it. A HANDLE that resets
/// itself when it is taken.
void* signal_event();

}  // namespace skipstone::platform
