/* Version of Skipstone: generated from the file VERSION. */
#ifndef SKIPSTONE_VERSION_H
#define SKIPSTONE_VERSION_H

#define SKIPSTONE_VERSION_MAJOR 0
#define SKIPSTONE_VERSION_MINOR 2
#define SKIPSTONE_VERSION_PATCH 0
#define SKIPSTONE_VERSION_STRING "0.2.0"

#endif
