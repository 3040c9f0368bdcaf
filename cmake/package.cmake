# What is made for others: libbang.so and libbang.a with the public names alone,
# man pages, and where all of it is installed.
set(bang_soversion ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(bang_tool ${PROJECT_SOURCE_DIR}/tools)

# The public names, from the headers.
file(GLOB_RECURSE bang_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/bang/*.h)
set(bang_names ${PROJECT_BINARY_DIR}/exported.txt)
set(bang_script ${PROJECT_BINARY_DIR}/exported.map)
list(TRANSFORM JANSSON_INCLUDE_DIRS PREPEND -I OUTPUT_VARIABLE bang_jansson_flags)
add_custom_command(OUTPUT ${bang_names} ${bang_script}
  COMMAND ${bang_tool}/exported-symbols ${CMAKE_C_COMPILER} -std=c17 -I${PROJECT_SOURCE_DIR}/include
          ${bang_jansson_flags} > ${bang_names}
  COMMAND ${bang_tool}/exported-symbols --script ${bang_soversion} < ${bang_names} > ${bang_script}
  DEPENDS ${bang_headers} ${bang_tool}/exported-symbols
  COMMENT "Listing the public names" VERBATIM)
add_custom_target(bang_exported DEPENDS ${bang_names} ${bang_script})

add_library(bang_shared SHARED $<TARGET_OBJECTS:bang_objects>)
add_dependencies(bang_shared bang_exported)
set_target_properties(bang_shared PROPERTIES
  OUTPUT_NAME bang EXPORT_NAME bang LINK_DEPENDS ${bang_script}
  VERSION ${PROJECT_VERSION} SOVERSION ${bang_soversion})
target_include_directories(bang_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_options(bang_shared PRIVATE
  -Wl,--version-script=${bang_script} -Wl,--no-undefined -Wl,-z,relro -Wl,-z,now
  -Wl,-z,noexecstack)
target_link_libraries(bang_shared
  PUBLIC PkgConfig::JANSSON PRIVATE PkgConfig::BANG_NEEDS Threads::Threads ${CMAKE_DL_LIBS} m)

# One object of all, so that what is private can be made local.
set(bang_archive ${PROJECT_BINARY_DIR}/libbang.a)
add_custom_command(OUTPUT ${bang_archive}
  COMMAND ${CMAKE_C_COMPILER} -r -nostdlib -o ${PROJECT_BINARY_DIR}/libbang.o
          -Wl,--whole-archive $<TARGET_FILE:bang_lib>
  COMMAND ${CMAKE_OBJCOPY} --keep-global-symbols=${bang_names} ${PROJECT_BINARY_DIR}/libbang.o
  COMMAND ${CMAKE_COMMAND} -E rm -f ${bang_archive}
  COMMAND ${CMAKE_AR} rcsD ${bang_archive} ${PROJECT_BINARY_DIR}/libbang.o
  COMMAND ${CMAKE_COMMAND} -E rm -f ${PROJECT_BINARY_DIR}/libbang.o
  DEPENDS bang_lib ${bang_names} COMMENT "Making libbang.a" VERBATIM)
add_custom_target(bang_static ALL DEPENDS ${bang_archive})

install(TARGETS bang)
install(TARGETS bang_shared EXPORT bangTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${bang_archive} DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/bang DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN *.h)

# Both descriptions find the library from where they lie, so an installed tree
# can be moved, and staged under another prefix.
file(RELATIVE_PATH bang_up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" bang_up "${bang_up}")
string(REGEX REPLACE ">=[0-9.]+" "" bang_plain_modules "${bang_modules}")
list(JOIN bang_plain_modules " " bang_plain_modules)
# Not Requires.private, which asks for all of them even where programs link libbang.so. A
# static library stands before those that it uses: several use zlib.
set(bang_static_libs ${BANG_NEEDS_LDFLAGS})
list(REMOVE_ITEM bang_static_libs -lz)
list(APPEND bang_static_libs -lz)
list(JOIN bang_static_libs " " bang_static_libs)
configure_file(${PROJECT_SOURCE_DIR}/cmake/bang.pc.in ${PROJECT_BINARY_DIR}/bang.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/bang.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
include(CMakePackageConfigHelpers)
set(bang_config ${CMAKE_INSTALL_LIBDIR}/cmake/bang)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/bangConfig.cmake.in
  ${PROJECT_BINARY_DIR}/bangConfig.cmake INSTALL_DESTINATION ${bang_config}
  PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/bangConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/bangConfig.cmake ${PROJECT_BINARY_DIR}/bangConfigVersion.cmake
  DESTINATION ${bang_config})
install(EXPORT bangTargets NAMESPACE bang:: DESTINATION ${bang_config})

# Man pages say what the command's own help says.
file(GLOB bang_commands CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cli/cmd_*.c)
list(TRANSFORM bang_commands REPLACE ".*/cmd_([a-z0-9_]+)[.]c$" "\\1")
list(TRANSFORM bang_commands REPLACE "_" "-")
list(TRANSFORM bang_commands REPLACE "(.+)" "${PROJECT_BINARY_DIR}/man/bang-\\1.1"
  OUTPUT_VARIABLE bang_pages)
list(APPEND bang_pages ${PROJECT_BINARY_DIR}/man/bang.1)
add_custom_command(OUTPUT ${bang_pages}
  COMMAND ${bang_tool}/make-man-pages $<TARGET_FILE:bang> ${PROJECT_BINARY_DIR}/man
  DEPENDS bang ${bang_tool}/make-man-pages COMMENT "Writing man pages" VERBATIM)
add_custom_target(bang_man ALL DEPENDS ${bang_pages})
install(FILES ${bang_pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)

# Both shells read the help with one program.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${bang_tool}/bang.completion.awk)
file(READ ${bang_tool}/bang.completion.awk BANG_COMPLETION)
foreach(shell bash zsh)
  configure_file(${bang_tool}/bang.${shell}-completion ${PROJECT_BINARY_DIR}/bang.${shell}-completion
    @ONLY)
endforeach()
install(FILES ${PROJECT_BINARY_DIR}/bang.bash-completion RENAME bang
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${PROJECT_BINARY_DIR}/bang.zsh-completion RENAME _bang
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)

# Where Debian's python3 looks, below /usr for packages and below /usr/local.
set(BANG_PYTHONDIR "" CACHE STRING "Where bang.py goes, below the prefix (empty: by Debian's python3)")
set(bang_python ${BANG_PYTHONDIR})
if(NOT bang_python)
  execute_process(COMMAND /usr/bin/python3 -c "import sys; print('lib/python%d.%d' % sys.version_info[:2])"
    OUTPUT_VARIABLE bang_python OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT bang_python OR CMAKE_INSTALL_PREFIX STREQUAL "/usr")
    set(bang_python lib/python3)
  endif()
  string(APPEND bang_python /dist-packages)
endif()
install(FILES ${PROJECT_SOURCE_DIR}/python/bang.py DESTINATION ${bang_python} COMPONENT python)
