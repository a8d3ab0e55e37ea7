#include "../cuda.h"
#include "../tasks.h"
#include "task.h"

TASK_FUNCTIONS(form_beams_task)
